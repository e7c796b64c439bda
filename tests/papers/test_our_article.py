"""[LW]: the numbers of our own theorems, and what each of them says of its parameters."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

import leakwise as lw
from leakwise.papers import our_article as ours


@pytest.mark.parametrize("exhibit", [ours.theorem_5, ours.theorem_7, ours.theorem_12, ours.theorem_13])
def test_what_is_stated_holds(exhibit) -> None:
    result = exhibit(fast=True)
    assert result.chart is not None
    assert all(finding.agrees for finding in result.findings), [f for f in result.findings if not f.agrees]


def test_theorem_5_has_the_variances_of_adult() -> None:
    known = {4: 12.93, 20: 7.51, 100: 6.89, None: 6.76}
    rows = {row["anyone"]: row for row in ours.theorem_5(fast=True).rows}
    assert {anyone: round(row["variance"], 2) for anyone, row in rows.items()} == known
    assert all(row["at_least"] <= row["variance"] for row in rows.values())


def test_theorem_7_gives_more_than_a_limit_on_each_outcome() -> None:
    rows = ours.theorem_7(fast=True).rows
    assert all(a["in_total"] < b["in_total"] for a, b in pairwise(rows))
    assert max(row["in_total"] - row["each_outcome"] for row in rows) > 0.1
    even = ours.theorem_7(prior=("1/2", "1/2"), points=4)
    # Every set used has one value: with probability s = (e^L - 1) the value is told, else nothing.
    for row in even.rows:
        assert row["in_total"] == pytest.approx(math.expm1(row["leakage"]) * math.log(2), abs=1e-9)


def test_theorem_12_falls_where_the_adversary_knows_less() -> None:
    rows = ours.theorem_12(fast=True, bits=3, flip=0.2).rows
    for name in ("every_guess", "average"):
        assert all(a[name] >= b[name] - 1e-12 for a, b in pairwise(rows))
    assert rows[0]["every_guess"] == pytest.approx(math.log(4))


def test_theorem_13_is_the_envelope_of_the_listed_count() -> None:
    result = ours.theorem_13(unknown=(3, 12), prior="1/5", noise=0.5, delta="1/100")
    for row in result.rows:
        listed = lw.aggregate.count(unknown=row["unknown"], prior="1/5", noise=0.5).mechanism
        found = lw.envelope(listed, {1: "1/5", 0: "4/5"}, "1/100")
        assert math.log(row["envelope"]) == pytest.approx(found.epsilon, abs=1e-9)
    assert np.allclose(result.column("every_prior"), math.exp(0.5))
