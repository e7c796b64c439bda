"""Running a program on its inputs, within a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from leakwise.alphabet import Label
from leakwise.errors import InvalidInput

__all__ = ["LEAST", "Asking", "OutOfTime", "checked_seconds"]

LEAST = 20  # answers for each input below which nothing can be said

Answers = list[list[Any]]
"""What came for each input."""


class OutOfTime(Exception):
    """Raised by a program that knows of the time limit, in place of an answer."""


class Asking:
    """Asks a program about each input so many times, and knows what it took.

    How many answers a round asks for is settled before it begins, and a round that the time cuts short is thrown away
    unseen: when to stop never depends on an answer that has been counted.
    """

    def __init__(
        self, program: Callable[..., Any], labels: Sequence[Label], batch: bool, seconds: float | None
    ) -> None:
        self._program, self._labels, self._batch = program, labels, batch
        self._start, self.seconds = time.monotonic(), seconds
        self._asked, self._running = 0, 0.0
        self._ended = self._start

    def most(self, wanted: int) -> int:
        """Return how many answers for each input the time is likely to allow: the number wanted, or fewer."""
        if self.seconds is None or not self._asked:
            return wanted
        now = time.monotonic()
        # A round is looked at afterwards, too: about twice as long as at the last, which was half as large.
        left = self.seconds - (now - self._start) - 2 * (now - self._ended)
        each = max(self._running / self._asked, 1e-9)
        return max(0, min(wanted, int(0.9 * left / each)))

    def ask(self, count: int) -> Answers | None:
        """Return that many answers for each input; None where the time ran out before they had all come."""
        began, found = time.monotonic(), list[list[Any]]()
        try:
            for label in self._labels:
                found.append(self._all_at_once(label, count) if self._batch else self._one_by_one(label, count))
        except OutOfTime:
            return None
        self._ended = time.monotonic()
        self._running += self._ended - began
        self._asked += count
        return None if self._late(self._ended) else found

    def too_slow(self) -> InvalidInput:
        return InvalidInput(
            f"seconds must be enough for {2 * LEAST} answers to each input. Got {self.seconds:g}, in which the program "
            "gave fewer: allow more seconds, ask about fewer inputs, or let it give many at once (batch=True, or "
            "{count} in a command)."
        )

    def _late(self, now: float) -> bool:
        return self.seconds is not None and now - self._start > self.seconds

    def _one_by_one(self, label: Label, count: int) -> list[Any]:
        found = []
        for _ in range(count):
            found.append(self._program(label))
            if self.seconds is not None and self._late(time.monotonic()):
                raise OutOfTime
        return found

    def _all_at_once(self, label: Label, count: int) -> list[Any]:
        # Not tolist(): arrays of another type for another input are other answers, and Python's own numbers would
        # hide it.
        listed = list(self._program(label, count))
        if len(listed) != count:
            raise InvalidInput(f"program must give back {count} answers for {label!r}. Got {len(listed)} instead.")
        return listed


def checked_seconds(seconds: object) -> float | None:
    """Return a time limit as a number."""
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < float("inf"):
        raise InvalidInput(f"seconds must be a positive number. Got {seconds!r} instead.")
    return float(seconds)
