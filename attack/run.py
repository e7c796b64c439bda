"""Attack for so many minutes, and go on where the last attack stopped. See attack/README.md."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import time
import traceback
import zlib
from collections import deque
from multiprocessing.pool import AsyncResult
from pathlib import Path

import numpy as np
from campaigns import CAMPAIGNS

HERE = Path(__file__).parent
COUNTS, FOUND = HERE / "counts.json", HERE / "found"
# Shares of the time; what is left goes to the property tests. Cases that a process takes at once.
SHARES = {"audits": 0.08, "designs": 0.1, "programs": 0.1, "files": 0.1, "budgets": 0.05, "roundings": 0.05}
SHARES |= {"forgeries": 0.12, "methods": 0.05, "orders": 0.05, "masks": 0.03, "accounts": 0.03, "together": 0.01}
SHARES |= {"rows": 0.05, "adaptive": 0.01, "readers": 0.02, "bugs": 0.02, "records": 0.02, "aggregates": 0.02}
SHARES |= {"densities": 0.02, "totals": 0.02}
CHUNK = {"audits": 500, "designs": 20, "programs": 50, "files": 20, "budgets": 20, "roundings": 10}
CHUNK |= {"forgeries": 2, "methods": 200, "orders": 10, "masks": 4, "accounts": 5, "together": 50, "rows": 2}
CHUNK |= {"adaptive": 500, "readers": 100, "bugs": 5, "records": 20, "aggregates": 20, "densities": 2, "totals": 5}


def randomness(campaign: str, number: int) -> np.random.Generator:
    """The same for the same case, on every machine."""
    return np.random.default_rng([zlib.crc32(campaign.encode()), number])


def chunk(task: tuple[str, int, int]) -> tuple[int, list[tuple[int, str]]]:
    """Cases from a number on; how many were tried, and what went wrong with which."""
    campaign, first, count = task
    wrong = []
    for number in range(first, first + count):
        try:
            CAMPAIGNS[campaign](randomness(campaign, number))
        except Exception:
            wrong.append((number, traceback.format_exc()))
    return count, wrong


def campaign_for(name: str, seconds: float, counts: dict[str, int], processes: int) -> int:
    """Run one campaign for a time; how many cases failed."""
    end, first, done, failed = time.monotonic() + seconds, counts.get(name, 0), 0, 0
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        waiting: deque[AsyncResult[tuple[int, list[tuple[int, str]]]]] = deque()
        number = first
        while waiting or time.monotonic() < end:
            while time.monotonic() < end and len(waiting) < 2 * processes:
                waiting.append(pool.apply_async(chunk, ((name, number, CHUNK[name]),)))
                number += CHUNK[name]
            tried, wrong = waiting.popleft().get()
            done += tried
            for case, told in wrong:
                failed += 1
                FOUND.mkdir(exist_ok=True)
                (FOUND / f"{name}-{case}.txt").write_text(told)
                print(f"  {name}:{case} {told.splitlines()[-1]}", flush=True)
    counts[name] = first + done
    print(f"{name:<12} {done:>10,} cases now, {counts[name]:>12,} in all, {failed} failed", flush=True)
    return failed


def properties(seconds: float, counts: dict[str, int]) -> int:
    """Property tests at high counts, a few files at a time, from where the last run stopped."""
    root = HERE.parent
    hunted = sorted(
        str(path.relative_to(root)) for path in (root / "tests").rglob("test_*.py") if "@given" in path.read_text()
    )
    end, failed, tried = time.monotonic() + seconds, 0, 0
    place = counts.get("property files", 0)
    while time.monotonic() < end and tried < len(hunted):
        name = hunted[(place + tried) % len(hunted)]
        left = max(10.0, end - time.monotonic())
        run = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", name]
        environment = {**os.environ, "LEAKWISE_HYPOTHESIS_PROFILE": "attack"}
        try:
            done = subprocess.run(
                run, cwd=root, env=environment, timeout=left + 60, capture_output=True, text=True, check=False
            )
        except subprocess.TimeoutExpired:
            break  # its examples were not all tried: the next run begins with it
        tried += 1
        if done.returncode not in (0, 5):
            failed += 1
            FOUND.mkdir(exist_ok=True)
            (FOUND / f"properties-{Path(name).stem}.txt").write_text(done.stdout)
            print(f"  properties: {name} failed", flush=True)
    counts["property files"] = place + tried
    print(
        f"{'properties':<12} {tried:>10,} files now, {counts['property files']:>12,} in all, {failed} failed",
        flush=True,
    )
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--campaign", choices=[*CAMPAIGNS, "properties"], help="only this one")
    parser.add_argument("--case", metavar="CAMPAIGN:NUMBER", help="run one case again, with its error")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    if options.case:
        name, _, number = options.case.partition(":")
        CAMPAIGNS[name](randomness(name, int(number)))
        print(f"{options.case} holds")
        return 0
    counts: dict[str, int] = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    seconds, failed = 60 * options.minutes, 0
    for name in CAMPAIGNS:
        if options.campaign in (None, name):
            share = 1.0 if options.campaign else SHARES[name]
            failed += campaign_for(name, share * seconds, counts, options.processes)
            COUNTS.write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")
    if options.campaign in (None, "properties"):
        failed += properties(seconds * (1.0 if options.campaign else 1 - sum(SHARES.values())), counts)
        COUNTS.write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")
    print("No false promise." if not failed else f"{failed} cases failed: see attack/found/")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
