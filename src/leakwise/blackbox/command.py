"""A command as a program: run for each input, what it prints is its answer."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from typing import Any

from leakwise.blackbox.asking import OutOfTime
from leakwise.errors import InvalidInput, some_of

__all__ = ["Command"]

INPUT, COUNT = "{input}", "{count}"


class Command:
    """Run a command with ``{input}`` in its words replaced; without it the input goes to its standard input.

    With ``{count}`` it is asked for that many answers at once, and each line that it prints is one (``batch``).

    Parameters
    ----------
    words
        The command and its arguments, as given to the system: no shell reads them.
    seconds
        From now on; a run that is under way then is killed with all that it started.
    crashes
        Whether a run that fails is an answer like any other, known by its exit code and what it printed.
    """

    def __init__(self, words: Sequence[str], *, seconds: float | None = None, crashes: bool = False) -> None:
        if not words:
            raise InvalidInput("The command to audit goes after two hyphens: leakwise audit-program … -- ./reporter.")
        self._words, self._crashes = list(words), crashes
        self.batch = any(COUNT in word for word in words)
        if self.batch and crashes:
            raise InvalidInput("--crashes goes with one answer for each run: leave {count} out of the command.")
        self._end = None if seconds is None else time.monotonic() + seconds

    def __call__(self, label: Any, count: int = 1) -> Any:
        """Return what the command prints for an input: a text, or with ``{count}`` a list of lines."""
        text = "" if label is None else str(label)
        words = [word.replace(INPUT, text).replace(COUNT, str(count)) for word in self._words]
        given = None if any(INPUT in word for word in self._words) else f"{text}\n"
        code, printed, said = self._run(words, given)
        if code and not self._crashes:
            raise InvalidInput(
                f"The command {some_of(words, 8)} ended with exit code {code} for {label!r}: "
                f"{said.strip().splitlines()[-1] if said.strip() else 'it said nothing'}. With --crashes a run that "
                "fails is an answer like any other."
            )
        answer = printed.removesuffix("\n")
        if self.batch:
            return answer.split("\n")
        return f"exit code {code}: {answer}" if code else answer

    def _run(self, words: Sequence[str], given: str | None) -> tuple[int, str, str]:
        try:
            started = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="surrogateescape",
                start_new_session=True,
            )
        except OSError as error:
            raise InvalidInput(f"The command {words[0]!r} cannot be run: {error.strerror}.") from None
        with started:
            try:
                left = None if self._end is None else max(self._end - time.monotonic(), 0.0)
                printed, said = started.communicate(given, timeout=left)
            except subprocess.TimeoutExpired:
                _kill(started)
                raise OutOfTime from None
            except BaseException:
                _kill(started)
                raise
        return started.returncode, printed, said


def _kill(process: subprocess.Popen[str]) -> None:
    """End a process with all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # it ended meanwhile
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.communicate()
