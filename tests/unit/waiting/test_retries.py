"""What is tried again, how often, and what is said before a pause."""

import pytest

from bpc_worker.waiting.retries import Retries


class Work:
    """Fails so often, then works."""

    def __init__(self, *errors: Exception) -> None:
        self.left = list(errors)
        self.runs = 0

    async def run(self, answer: str = "done") -> str:
        self.runs += 1
        if self.left:
            raise self.left.pop(0)
        return answer


def quick(**more: object) -> Retries:
    return Retries(
        when=lambda error: isinstance(error, OSError),
        first_pause=0.0,
        longest_pause=0.0,
        **more,  # type: ignore[arg-type]
    )


async def test_it_is_tried_until_it_works() -> None:
    work = Work(OSError(), OSError(), OSError())

    assert await quick().run(work.run, answer="so") == "so"
    assert work.runs == 4


async def test_other_errors_fly_at_once() -> None:
    work = Work(ValueError("other"), OSError())
    with pytest.raises(ValueError, match="other"):
        await quick().run(work.run)

    assert work.runs == 1


async def test_the_last_error_flies_when_the_tries_are_used_up() -> None:
    work = Work(OSError("first"), OSError("second"), OSError("third"))
    with pytest.raises(OSError, match="second"):
        await quick(tries=2).run(work.run)

    assert work.runs == 2


async def test_what_is_not_counted_is_waited_out() -> None:
    away = ConnectionError("away")
    work = Work(away, away, away, OSError("first"), OSError("second"))
    retries = quick(tries=3, uncounted=lambda error: isinstance(error, ConnectionError))
    with pytest.raises(OSError, match="first"):
        await retries.run(work.run)

    assert work.runs == 4


async def test_every_pause_is_announced_with_its_error() -> None:
    heard: list[str] = []
    work = Work(OSError("a"), OSError("b"))
    await quick(before_pause=lambda error: heard.append(str(error))).run(work.run)

    assert heard == ["a", "b"]
