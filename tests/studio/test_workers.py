"""Worker processes: jobs, calling off, time limits, and what becomes of one that dies."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest

from leakwise.studio import worker
from leakwise.studio.limits import Limits
from leakwise.studio.pool import Pool, Ticket
from leakwise.studio.state import Asked, Event, Failed, Part, Progressed
from leakwise.studio.worker import Done, Job, Stop, run, serve
from studio.states import brought, design_for, in_a_row, make_state, worst_case

HEAVY = make_state(
    [f"v{k}" for k in range(40)],
    [str(1000 + 37 * k * k % 991) for k in range(40)],
    kind="counts",
    goal=design_for("frequencies"),
)


def asked(plain: dict[str, Any], client: str = "me", **more: Any) -> Asked:
    return msgspec.convert({"client": client, "state": plain, **more}, Asked)


# ------------------------------------------------------------------------------------------- in this process


def done_by(job: Job, stopped: bool = False) -> list[Event | None]:
    out = io.BytesIO()
    flag = threading.Event()
    if stopped:
        flag.set()
    run(job, out, flag)
    lines = [msgspec.json.decode(line, type=Done) for line in out.getvalue().splitlines()]
    assert {line.number for line in lines} == {job.number}
    return [line.event for line in lines]


@pytest.mark.parametrize(
    ("panel", "plain", "names"),
    [
        ("prior", make_state(), ["prior"]),
        ("answer", make_state(), ["answer", "envelope"]),
        ("steps", make_state(goal=worst_case()), ["steps"]),
        ("several", {**make_state(), "row": in_a_row(("smokes", "no,yes", "2"))}, ["several"]),
        ("tradeoff", make_state(["a"], ["1"]), ["tradeoff"]),
    ],
)
def test_a_job_tells_its_parts_and_its_end(panel: str, plain: Any, names: list[str]) -> None:
    *events, last = done_by(Job(7, panel, asked(plain)))
    assert last is None
    assert list(dict.fromkeys(event.name for event in events if isinstance(event, Part))) == names


def test_errors_are_told_in_words_and_by_place() -> None:
    (failed, _) = done_by(Job(1, "answer", asked(make_state(values=["1/2", "1/2", "1/2"]))))
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.about) == ("AboutPrior", "prior")
    (failed, _) = done_by(Job(1, "answer", asked(make_state(goal=brought("k_singular", "k", "9")))))
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.about) == ("InvalidInput", "answer")


@pytest.mark.parametrize(("error", "kind"), [(MemoryError(), "TooLarge"), (KeyError("oops"), "Mistake")])
def test_a_mistake_is_owned_and_the_next_job_is_done(
    monkeypatch: pytest.MonkeyPatch, error: Exception, kind: str
) -> None:
    def broken(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(worker, "prior_facts", broken)
    (failed, last) = done_by(Job(1, "prior", asked(make_state())))
    assert isinstance(failed, Failed)
    assert failed.kind == kind
    assert last is None


def test_a_job_that_was_called_off_ends_at_its_next_word() -> None:
    assert done_by(Job(1, "tradeoff", asked(make_state())), stopped=True) == [None]
    first, last = done_by(Job(1, "prior", asked(make_state())), stopped=True)
    assert isinstance(first, Part)
    assert last is None


def test_a_worker_does_its_lines_and_ends_with_its_input() -> None:
    jobs = [Job(1, "prior", asked(make_state())), Stop(99), Job(2, "prior", asked(make_state(["z"], ["1"])))]
    source = io.BytesIO(b"".join(msgspec.json.encode(job) + b"\n" for job in jobs))
    out = io.BytesIO()
    ended = threading.Event()
    serve(source, out, ended.set)
    assert ended.wait(10)
    numbers = [msgspec.json.decode(line, type=Done).number for line in out.getvalue().splitlines()]
    assert numbers[-1] == 2
    assert set(numbers) == {1, 2}


# ------------------------------------------------------------------------------------------------- the pool


def in_pool(action: Callable[[Pool], Awaitable[None]], **limits: Any) -> None:
    async def all_of_it() -> None:
        pool = Pool(limits=Limits(**limits))
        await pool.start()
        try:
            await asyncio.wait_for(action(pool), 300)  # only a hang takes that long
        finally:
            await pool.close()

    run_apart(all_of_it())


def run_apart(work: Coroutine[Any, Any, None]) -> None:
    """In a thread of its own: in this one a browser may be running its event loop."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()


async def events_of(ticket: Ticket) -> list[Event]:
    return [event async for event in ticket.events()]


def test_a_newer_job_takes_the_place_of_an_older_one() -> None:
    async def action(pool: Pool) -> None:
        old = await pool.submit("answer", asked(HEAVY))
        other = await pool.submit("answer", asked(make_state(), "somebody else"))
        new = await pool.submit("answer", asked(make_state()))
        last = (await events_of(old))[-1]
        assert isinstance(last, Failed)
        assert last.kind == "Cancelled"
        for ticket in (other, new):
            assert [event.name for event in await events_of(ticket) if isinstance(event, Part)] == [
                "answer",
                "envelope",
            ]
        pool.call_off(new)  # it has ended: nothing happens
        pool.call_off(new)

    in_pool(action)


def test_a_job_beyond_patience_is_ended_and_the_next_one_is_done() -> None:
    # Far more than half a second of any machine: the search alone takes several.
    values = [f"v{k}" for k in range(100)]
    counts = [str(1000 + 37 * k * k % 991) for k in range(100)]
    heavy = make_state(values, counts, kind="counts", goal=design_for("frequencies"))

    async def action(pool: Pool) -> None:
        slow = await pool.submit("answer", asked(heavy))
        last = (await events_of(slow))[-1]
        assert isinstance(last, Failed)
        assert last.kind == "TimeLimit"
        assert "0.5 seconds" in last.message
        pool.limits = Limits()  # a new worker may take its time to start
        tickets = [await pool.submit("prior", asked(make_state(), f"c{k}")) for k in range(4)]
        for ticket in tickets:
            assert isinstance((await events_of(ticket))[-1], Part)

    in_pool(action, patience=0.5)


def test_curves_leave_a_worker_to_answers() -> None:
    heavy = {**HEAVY, "goal": design_for("mutual_information")}

    async def action(pool: Pool) -> None:
        curves = [await pool.submit("tradeoff", asked(heavy, f"c{k}")) for k in range(3)]
        answer = await pool.submit("answer", asked(make_state(), "d"))
        assert isinstance((await events_of(answer))[-1], Part)
        running = [ticket for ticket, _ in pool._running.values()]
        assert sum(ticket.panel == "tradeoff" for ticket in running) <= 1
        for ticket in curves:
            pool.call_off(ticket)

    in_pool(action)


def test_too_many_wait_and_whoever_waits_is_told() -> None:
    async def action(pool: Pool) -> None:
        running = []
        for k in range(2):
            running.append(await pool.submit("answer", asked(HEAVY, f"h{k}")))
            async with pool._change:
                await pool._change.wait_for(lambda: len(pool._running) == len(running))
        waiting = await pool.submit("prior", asked(make_state(), "w"))
        refused = await pool.submit("prior", asked(make_state(), "x"))
        (failed,) = await events_of(refused)
        assert isinstance(failed, Failed)
        assert failed.kind == "Busy"
        for ticket in running:
            pool.call_off(ticket)
        told = await events_of(waiting)
        assert isinstance(told[0], Progressed)
        assert isinstance(told[-1], Part)

    in_pool(action, waiting=1)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_a_worker_that_dies_is_replaced() -> None:
    async def action(pool: Pool) -> None:
        ticket = await pool.submit("answer", asked(HEAVY))
        async with pool._change:
            await pool._change.wait_for(lambda: pool._running)
        ((_, process),) = pool._running.values()
        os.kill(process.pid, signal.SIGKILL)
        last = (await events_of(ticket))[-1]
        assert isinstance(last, Failed)
        assert last.kind == "Ended"
        again = await pool.submit("answer", asked(make_state()))
        assert isinstance((await events_of(again))[-1], Part)

    in_pool(action)


def test_whoever_waits_when_the_studio_closes_is_told() -> None:
    tickets: list[Ticket] = []

    async def all_of_it() -> None:
        pool = Pool()
        await pool.start()
        tickets.append(await pool.submit("answer", asked(HEAVY)))
        await pool.close()
        last = (await events_of(tickets[0]))[-1]
        assert isinstance(last, Failed)
        assert "closed" in last.message

    run_apart(all_of_it())
