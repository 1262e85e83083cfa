"""Where an exception came from, without its words: those may quote what it was working on."""

import traceback
from pathlib import Path


def frames_of(error: BaseException) -> str:
    """The innermost first."""
    frames = traceback.extract_tb(error.__traceback__)
    return " <- ".join(
        f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames)
    )


def type_and_place(error: BaseException) -> str:
    return f"{type(error).__name__} at {frames_of(error).partition(' <- ')[0]}"
