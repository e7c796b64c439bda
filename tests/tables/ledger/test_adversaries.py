"""Adversaries of the ledger: one who chooses by what was seen before, and whatever kills processes.

The whole of both is in ``attack/``: 10⁵ sequences, and twenty processes of which fifty are killed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from adaptive import adaptive

ATTACK = Path(__file__).parents[3] / "attack"


@pytest.mark.parametrize("part", range(4))
def test_the_filter_is_not_exceeded_by_releases_chosen_after_seeing_outcomes(part):
    for number in range(60):
        adaptive(np.random.default_rng([part, number]))


def test_killed_processes_lose_nothing_and_exceed_nothing():
    """In a process of its own: it forks, and the suite has threads."""
    words = [sys.executable, str(ATTACK / "kills.py"), "4", "6", "20"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ATTACK, check=False)
    assert not done.returncode, done.stderr
    assert "'killed': 6, 'entered': 20" in done.stdout
