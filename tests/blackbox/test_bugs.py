"""Known bugs are found, and programs without them are not called wrong (all of them: ``make attack``)."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

import numpy as np
import pytest
from bugs import BUGS
from correct import alarm


@pytest.mark.parametrize("name", BUGS)
def test_a_known_bug_is_found_and_the_correct_program_is_not(name: str) -> None:
    one = BUGS[name]
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    found = one.audit(generator, wrong=True)
    assert found.verdict == "refuted"
    assert found.measures["ldp"].lower > one.epsilon
    assert one.audit(generator, wrong=False, samples=4_000).verdict != "refuted"


def test_the_page_lists_every_bug() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "test-your-code.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| ([a-z ]+) \| (.+?) \| [\d.]+ \| [\d.]+ \| [\d,]+ \|$", page, flags=re.MULTILINE)
    assert listed == [(one.name, one.what) for one in BUGS.values()]
    assert len(listed) >= 15


def test_false_alarms_are_no_more_than_was_said() -> None:
    """A slice of the 1,000 programs of benchmarks/blackbox.py, at a failure probability that would show a fault."""
    generator = np.random.default_rng(1)
    alarms = sum(alarm(generator, 0.5, 1_200) for _ in range(40))
    assert alarms / 40 <= 0.5
