"""Many processes on one ledger, killed at any moment: nothing is lost, and nothing is over budget.

    python attack/kills.py 20 50

starts twenty processes, kills fifty (each is replaced), and looks at what they left behind.
"""

from __future__ import annotations

import collections
import os
import random
import select
import signal
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from truth import must

import leakwise as lw
from leakwise.tables.ledger.joint_total import together
from leakwise.tables.ledger.reservation import Reservation

__all__ = ["kills"]

_PRIOR = lw.Prior({"no": 0.75, "yes": 0.25})
_RESPONSE = lw.randomized_response(["no", "yes"], lift="1.1")
_CERTIFICATE = lw.certify(_RESPONSE, _PRIOR)


def kills(folder: Path, processes: int, killed: int, releases: int, seed: int = 1) -> dict[str, int]:
    """Let processes release until the budget is used up, and kill so many of them; say what was found.

    Parameters
    ----------
    folder
        An empty one.
    processes, killed
        How many run at once, and how many are killed.
    releases
        How many the budget allows.
    seed
        Of the choice of who is killed when.
    """
    ledger, choice = lw.Ledger(folder / "ledger.db"), random.Random(seed)
    ledger.set_budget("d", epsilon=together([_RESPONSE] * releases, _PRIOR).epsilon * (1 + 1e-9))
    running: dict[int, int] = {}  # where a process says how far it is, and the process
    started = left = 0
    while len(running) < processes or running:
        while len(running) < processes and (killed or not started >= processes):
            pipe, process = _start(folder, started)
            running[pipe], started = process, started + 1
        patience = choice.randrange(1, 12)  # so many steps of whichever process, before the next one is killed
        while running:
            pipe = choice.choice(select.select(list(running), [], [])[0])
            step = os.read(pipe, 1)
            patience -= 1
            if step and not (killed and patience <= 0):
                continue
            process = running.pop(pipe)
            if step:
                os.kill(process, signal.SIGKILL)
                killed, left = killed - 1, left + 1
            os.close(pipe)
            _, status = os.waitpid(process, 0)
            must(step or not status, f"a process that nobody killed ended with {status}")
            break
        if not killed and not running:
            break
    return {"started": started, "killed": left, **_look(folder, releases)}


def _start(folder: Path, number: int) -> tuple[int, int]:
    """A process that releases until it is refused, and tells every step; forked, because to import takes a second."""
    theirs, ours = os.pipe()
    process = os.fork()
    if process:
        os.close(ours)
        return theirs, process
    code = 1
    try:
        os.close(theirs)
        _release(folder, number, ours)
        code = 0
    finally:
        os._exit(code)


def _release(folder: Path, number: int, tell: int) -> None:
    ledger = lw.Ledger(folder / "ledger.db")
    several = 1 + number % 2  # every other process makes two releases at once
    with (folder / f"drawn-{number}").open("w") as drawn:
        while True:
            os.write(tell, b"a")
            try:
                entries = ledger.reserve_all("d", [Reservation("s", _CERTIFICATE)] * several)
            except lw.Infeasible:
                if several == 1:
                    return
                several = 1  # there may be room for one
                continue
            os.write(tell, b"b")
            drawn.write("".join(f"{one}\n" for one in entries))
            drawn.flush()
            os.fsync(drawn.fileno())
            os.write(tell, b"c")
            ledger.confirm(entries)
            os.write(tell, b"d")


def _look(folder: Path, releases: int) -> dict[str, int]:
    """Look whether all that was drawn counts, whether the budget holds, and whether what is left can be settled."""
    ledger = lw.Ledger(folder / "ledger.db")
    entries = {one.id: one for one in ledger.entries()}
    with closing(sqlite3.connect(ledger.path)) as db:
        must(db.execute("PRAGMA integrity_check").fetchone() == ("ok",), "the file is damaged")
    # A line that was cut off by a kill was not told to anyone as drawn.
    drawn = [
        int(line) for path in folder.glob("drawn-*") for line in path.read_text().splitlines(True) if line[-1:] == "\n"
    ]
    must(len(set(drawn)) == len(drawn), "two processes have the same entry")
    must(all(one in entries and entries[one].counts for one in drawn), "what was drawn does not count")
    reserved = [one for one in entries.values() if one.state == "reserved"]
    must(
        all(one.id in drawn for one in entries.values() if one.state == "released"),
        "something counts as released that was not",
    )
    sizes = collections.Counter(one.together for one in entries.values() if one.together is not None)
    must(set(sizes.values()) <= {2}, "a half of two releases was entered")
    must(ledger.total("d").within_budget, "the budget is exceeded")
    must(len(entries) == releases, f"{len(entries)} releases were entered where the budget allows {releases}")
    for one in reserved:
        if lw.Ledger(ledger.path).entries()[one.id - 1].state == "reserved":  # not settled with another one
            ledger.settle(one.id, released=one.id in drawn)
    must(not ledger.account("d").reserved, "something cannot be settled")
    return {"entered": len(entries), "drawn": len(drawn), "left reserved": len(reserved)}


if __name__ == "__main__":
    given = [int(one) for one in sys.argv[1:]]
    count, deaths, room = (*given, *(20, 50, 160)[len(given) :])
    with tempfile.TemporaryDirectory() as name:
        print(kills(Path(name), count, deaths, room))
