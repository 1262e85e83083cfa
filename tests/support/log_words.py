"""A logger that remembers which events were logged."""


class LogWords:
    def __init__(self) -> None:
        self.said: list[str] = []

    def __getattr__(self, level: str) -> object:
        return lambda event, **_: self.said.append(f"{level} {event}")
