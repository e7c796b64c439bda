"""A worker process: reads a job from its input, writes what it finds to its output, line by line.

The studio starts it as ``python -m leakwise.studio.worker`` and ends it when it takes too long. A line is JSON; nothing
else is understood. A job that is called off ends at its next word of progress.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import BinaryIO

import msgspec

from leakwise.errors import InvalidInput, LeakwiseError
from leakwise.studio.answers import AboutPrior, answer, prior_facts, solve
from leakwise.studio.curves import steps, tradeoff_parts
from leakwise.studio.several import several_secrets
from leakwise.studio.state import Asked, Event, Failed, Part, Progressed
from leakwise.studio.whole_row import whole_row

__all__ = ["Done", "Job", "Stop", "parts", "run", "serve"]

# More than so many words a second nobody can read, and every one costs a message.
_PAUSE = 0.1


class Job(msgspec.Struct, frozen=True, tag_field="say", tag="do"):
    """What a worker is to do."""

    number: int
    panel: str
    asked: Asked


class Stop(msgspec.Struct, frozen=True, tag_field="say", tag="stop"):
    """A job that nobody waits for any more."""

    number: int


class Done(msgspec.Struct, frozen=True):
    """A line of output: an event of a job, or (without one) its end."""

    number: int
    event: Event | None = None


class _CalledOff(BaseException):
    """Ends a job between two steps of its search; not an Exception, so that no search takes it for its own."""


class _Teller:
    """Passes progress on, not too often, and ends the job when it was called off."""

    def __init__(self, job: Job, out: BinaryIO, stopped: threading.Event) -> None:
        self.job, self.out, self.stopped = job, out, stopped
        self.last = time.monotonic()

    def __call__(self, stage: str, done: float | None) -> None:
        if self.stopped.is_set():
            raise _CalledOff
        now = time.monotonic()
        if now - self.last >= _PAUSE:
            self.last = now
            self.say(Progressed(stage, done))

    def say(self, event: Event | None) -> None:
        self.out.write(msgspec.json.encode(Done(self.job.number, event)) + b"\n")
        self.out.flush()


def parts(job: Job, progress: _Teller) -> Iterator[Part]:
    """What a panel shows, part by part."""
    state = job.asked.state
    if job.panel == "prior":
        yield prior_facts(state.prior)
    elif job.panel == "several":
        yield several_secrets(state)
    elif job.panel == "answer":
        yield from answer(state, draft=job.asked.draft, progress=progress, view=job.asked.view)
    elif job.panel == "row":
        if job.asked.others is None:
            raise InvalidInput("Open a table first: it has the other columns of a row.")
        yield whole_row(solve(state, draft=False, progress=progress), job.asked.others)
    elif job.panel == "tradeoff":
        yield from tradeoff_parts(state, progress=progress)
    else:
        yield from steps(state, progress=progress)


def run(job: Job, out: BinaryIO, stopped: threading.Event) -> None:
    """Do one job: its parts, or what went wrong in words, and then its end."""
    teller = _Teller(job, out, stopped)
    try:
        for part in parts(job, teller):
            teller.say(part)
            if stopped.is_set():
                break
    except _CalledOff:
        pass
    except LeakwiseError as error:
        about = "prior" if isinstance(error, AboutPrior) else job.panel
        teller.say(Failed(type(error).__name__, str(error), about))
    except (MemoryError, RecursionError, OverflowError, FloatingPointError) as error:
        message = (
            f"The numbers are too large for this page ({type(error).__name__}). Try fewer values or rounder numbers."
        )
        teller.say(Failed("TooLarge", message, job.panel))
    except Exception as error:  # a mistake of Leakwise: the page says so, and the process goes on with the next job
        message = (
            f"Leakwise made a mistake ({type(error).__name__}: {error}). Please report it with the exported state."
        )
        teller.say(Failed("Mistake", message, job.panel))
    teller.say(None)


def serve(source: BinaryIO, out: BinaryIO, at_end: Callable[[], None] | None = None) -> None:
    """Do jobs until the input ends; then call ``at_end``, without waiting for a job that still runs."""
    jobs: queue.Queue[Job | None] = queue.Queue()
    stops: dict[int, threading.Event] = {}
    decoder = msgspec.json.Decoder(Job | Stop)

    def listen() -> None:
        for line in source:
            message = decoder.decode(line)
            if isinstance(message, Job):
                stops[message.number] = threading.Event()
                jobs.put(message)
            elif message.number in stops:  # else it ended by itself in the meantime
                stops[message.number].set()
        for stopped in list(stops.values()):
            stopped.set()
        jobs.put(None)
        if at_end is not None:
            at_end()

    threading.Thread(target=listen, daemon=True).start()
    while (job := jobs.get()) is not None:
        run(job, out, stops[job.number])
        stops.pop(job.number, None)


if __name__ == "__main__":
    # Loaded now, so that the first job does not wait for the solver.
    import leakwise.optimize.search.dispatch
    import leakwise.optimize.worst_case  # noqa: F401

    # What a library prints goes to the error stream, so that the output holds nothing but our lines.
    lines = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # The studio is gone when the input ends: whatever is still being solved, nobody waits for it.
    serve(sys.stdin.buffer, lines, at_end=lambda: os._exit(0))
