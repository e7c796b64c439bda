"""What sets of values that nobody lists are worth: as the listed ones for a uniform prior, and never more otherwise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import leakwise as lw
from leakwise.errors import InvalidInput
from leakwise.mechanism.catalog import sets

MAKERS = [lw.catalog.symmetric_unary_encoding, lw.catalog.optimized_unary_encoding, lw.catalog.subset_selection]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("k", [2, 5, 8])
def test_frequencies_are_those_of_the_listed_sets(make: Any, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dense = make(k, lift="2.5")
    monkeypatch.setattr(sets, "_LISTED", 0)
    many = make(k, lift="2.5")
    uniform, skew = lw.Prior.uniform(k), lw.Prior(np.arange(1, k + 1) / (k * (k + 1) / 2))
    known = lw.utility(dense, uniform, "frequencies")
    assert lw.utility(many, uniform, "frequencies") == pytest.approx(known, rel=1e-8)
    best = lw.utility(dense, skew, "frequencies")
    assert 1.1 * best <= lw.utility(many, skew, "frequencies") <= best * (1 - 1e-8)
    assert lw.utility(make(k, lift=1), uniform, "frequencies") == -math.inf


def test_subset_selection_of_a_hundred_values_is_the_optimum_of_a_uniform_prior() -> None:
    prior = lw.Prior.uniform(100)
    worth = {make: lw.utility(make(100, epsilon=1), prior, "frequencies") for make in MAKERS}
    assert max(worth, key=lambda make: worth[make]) is lw.catalog.subset_selection
    k, d, t = 100, 27, math.e
    p = d * t / (d * t + k - d)
    q = (p * (d - 1) + (1 - p) * d) / (k - 1)
    published = k * q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q) + 1 - 1 / k  # and the sampling of the rows
    assert worth[lw.catalog.subset_selection] == pytest.approx(-published, rel=1e-9)


def test_other_utilities_say_that_they_need_a_list() -> None:
    with pytest.raises(InvalidInput, match=r"too many to list.*frequencies"):
        lw.utility(lw.catalog.subset_selection(100, epsilon=1), lw.Prior.uniform(100), "guessing")


def test_a_hundred_values_are_compared() -> None:
    found = lw.compare(
        lw.Prior.uniform(100), ["subset_selection", "randomized_response"], epsilon=1, at="ldp", designs=False
    )
    rows = {row.name: row for row in found.rows}
    assert rows["subset_selection"].rows_needed == 1
    assert rows["randomized_response"].rows_needed > 9
    assert rows["subset_selection"].epsilon < rows["randomized_response"].epsilon < 1
