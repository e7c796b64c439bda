"""Worker processes that can be called off: a solve never holds up the page, and none goes on that nobody waits for."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator

import msgspec

from leakwise.studio.limits import LIMITS, Limits
from leakwise.studio.state import Asked, Event, Failed, Progressed
from leakwise.studio.worker import Done, Job, Stop

__all__ = ["PANELS", "Pool", "Ticket"]

# The panels and their order of service: who turns the knob waits for the answer, the curves can come later.
PANELS = {"prior": 0, "several": 0, "answer": 0, "row": 1, "steps": 1, "tradeoff": 2}
_CURVES = ("steps", "tradeoff")
# A job that was called off may end by itself for so long; then its process is ended.
_GRACE = 0.75
_LINE = 1 << 27


class Ticket:
    """A job as the one who waits for it sees it: events until the last one, or called off."""

    def __init__(self, number: int, panel: str, asked: Asked) -> None:
        self.number, self.panel, self.asked = number, panel, asked
        self.key = (asked.client, panel)
        self.called_off = False
        self.killed = False
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._ended = False

    def put(self, event: Event | None) -> None:
        """Hand on an event; None is the end, and nothing comes after it."""
        if not self._ended:
            self._ended = event is None
            self._events.put_nowait(event)

    def finish(self, event: Event) -> None:
        """Hand on the last event."""
        self.put(event)
        self.put(None)

    async def events(self) -> AsyncIterator[Event]:
        """What comes of the job."""
        while (event := await self._events.get()) is not None:
            yield event


class Pool:
    """A few worker processes and the jobs that wait for them.

    A new job of the same page and panel calls the old one off. One worker is always kept from the curves, so that an
    answer never waits for them.
    """

    def __init__(self, size: int = 2, limits: Limits = LIMITS) -> None:
        self.size, self.limits = size, limits
        self._waiting: list[Ticket] = []
        self._running: dict[int, tuple[Ticket, asyncio.subprocess.Process]] = {}
        self._numbers = 0
        self._change = asyncio.Condition()
        self._slots: list[asyncio.Task[None]] = []
        self._spare: asyncio.Task[asyncio.subprocess.Process] | None = None

    async def start(self) -> None:
        """Start the workers; jobs may be submitted at once and wait until one is up."""
        self._slots = [asyncio.create_task(self._slot()) for _ in range(self.size)]

    async def close(self) -> None:
        """End everything: whoever still waits is told."""
        for slot in self._slots:
            slot.cancel()
        await asyncio.gather(*self._slots, return_exceptions=True)
        if self._spare is not None:
            await _end(await self._spare)
        for ticket in [*self._waiting, *(ticket for ticket, _ in self._running.values())]:
            ticket.finish(Failed("Cancelled", "The studio was closed.", ticket.panel))

    async def submit(self, panel: str, asked: Asked) -> Ticket:
        """Hand in a job; an older one of the same panel and page is called off."""
        self._numbers += 1
        ticket = Ticket(self._numbers, panel, asked)
        for older in [*self._waiting, *(running for running, _ in self._running.values())]:
            if older.key == ticket.key:
                self.call_off(older)
        async with self._change:
            if len(self._waiting) >= self.limits.waiting:
                ticket.finish(
                    Failed("Busy", f"{len(self._waiting)} requests are waiting already. Try again in a moment.", panel)
                )
                return ticket
            if len(self._running) >= self.size:
                ticket.put(Progressed("waiting for another solve to end"))
            self._waiting.append(ticket)
            self._change.notify_all()
        return ticket

    def call_off(self, ticket: Ticket) -> None:
        """Nobody waits for this job any more: it leaves the queue, or its worker is told, and ended if it goes on."""
        if ticket.called_off:
            return
        ticket.called_off = True
        ticket.finish(Failed("Cancelled", "A newer request took the place of this one.", ticket.panel))
        if ticket in self._waiting:
            self._waiting.remove(ticket)
        elif ticket.number in self._running:
            process = self._running[ticket.number][1]
            assert process.stdin is not None
            process.stdin.write(msgspec.json.encode(Stop(ticket.number)) + b"\n")
            asyncio.get_running_loop().call_later(_GRACE, self._end_if_running, ticket)

    def _end_if_running(self, ticket: Ticket) -> None:
        if ticket.number in self._running:
            ticket.killed = True
            with contextlib.suppress(ProcessLookupError):
                self._running[ticket.number][1].kill()

    # -- the workers ----------------------------------------------------------------------------------------------

    async def _slot(self) -> None:
        """One worker after the other: a new one is started where one was ended."""
        while True:
            process = await self._worker()
            try:
                while process.returncode is None:
                    ticket = await self._next(process)
                    try:
                        alive = await self._do(process, ticket)
                    finally:
                        async with self._change:
                            self._running.pop(ticket.number, None)
                            self._change.notify_all()
                    if not alive:
                        break
            finally:
                await _end(process)

    async def _worker(self) -> asyncio.subprocess.Process:
        """A worker: the one that was kept ready for when another had to be ended, or a new one."""
        spare, self._spare = self._spare, None
        return await (_start() if spare is None else spare)

    async def _next(self, process: asyncio.subprocess.Process) -> Ticket:
        async with self._change:
            await self._change.wait_for(lambda: self._choice() is not None)
            ticket = self._choice()
            assert ticket is not None
            self._waiting.remove(ticket)
            self._running[ticket.number] = (ticket, process)
            self._change.notify_all()
            return ticket

    def _choice(self) -> Ticket | None:
        curves = sum(ticket.panel in _CURVES for ticket, _ in self._running.values())
        free = [ticket for ticket in self._waiting if ticket.panel not in _CURVES or curves < max(1, self.size - 1)]
        return min(free, key=lambda ticket: (PANELS[ticket.panel], ticket.number), default=None)

    async def _do(self, process: asyncio.subprocess.Process, ticket: Ticket) -> bool:
        """Pass a job to a worker and its events on; False when the worker did not survive it."""
        assert process.stdin is not None
        assert process.stdout is not None
        late = asyncio.Event()

        def stop() -> None:
            late.set()
            self._end_if_running(ticket)

        timer = asyncio.get_running_loop().call_later(self.limits.patience, stop)
        try:
            process.stdin.write(msgspec.json.encode(Job(ticket.number, ticket.panel, ticket.asked)) + b"\n")
            while line := await process.stdout.readline():
                done = msgspec.json.decode(line, type=Done)
                if done.event is None:
                    ticket.put(None)
                    if self._spare is None:
                        self._spare = asyncio.create_task(_start())
                    # From here on nobody may end the worker because of this job; if someone did while its last words
                    # were on the way, it is gone, and the next job must not go to it.
                    self._running.pop(ticket.number, None)
                    return not ticket.killed
                ticket.put(done.event)
        finally:
            timer.cancel()
        if late.is_set():
            words = (
                f"This took longer than {self.limits.patience:g} seconds and was stopped. Try fewer values, another "
                "utility, or the library itself, which has no such limit."
            )
            ticket.finish(Failed("TimeLimit", words, ticket.panel))
        else:
            words = "The solver ended without an answer, perhaps for want of memory. Try fewer values."
            ticket.finish(Failed("Ended", words, ticket.panel))
        return False


async def _end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()


async def _start() -> asyncio.subprocess.Process:
    # One thread for each: two workers then leave the page and each other alone.
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "leakwise.studio.worker",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_LINE,
        env={**os.environ, **threads},
    )
