"""Sets of priors from noisy counts: finder and checker agree, and the true prior is inside as often as it is said."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.alphabet import Alphabet
from leakwise.errors import CertificateRejected, InvalidInput
from leakwise.priors.sets.layer_cake import LayerCake
from leakwise.priors.sets.noisy import NoisyLayerCake, noise_ratio
from leakwise.proof import least_mass_prover

LETTERS = Alphabet(["a", "b", "c", "d"])
CAKE = NoisyLayerCake(LETTERS, [5210, 2488, 1530, 770], 10_000, Fraction(1, 10), 1e-3)


def subsets(size: int) -> np.ndarray:
    return ((np.arange(1, 2**size - 1)[None, :] >> np.arange(size)[:, None]) & 1).astype(float)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_the_checker_proves_what_the_finder_found(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 6))
    rows = data.draw(st.integers(1, 10**6))
    counts = data.draw(st.lists(st.integers(-50, rows), min_size=size, max_size=size))
    if size == 2:
        counts[1] = rows - counts[0]
    cost = Fraction(data.draw(st.sampled_from([0.001, 0.05, 0.5, 3.0])))
    cake = NoisyLayerCake(Alphabet(range(size)), counts, rows, cost, data.draw(st.sampled_from([1e-9, 0.01, 0.5])))
    column = data.draw(st.lists(st.integers(0, 10**6), min_size=size, max_size=size))
    found, proven = cake.exact_least_mass(column), least_mass_prover(cake)(column)
    assert min(column) <= proven <= max(column)
    assert abs(found - proven) <= Fraction(1, 10**5) * max(column)


def test_noise_costs_certainty_and_more_so_the_less_is_paid() -> None:
    counts, sets = [5000, 2500, 1700, 800], subsets(4)
    exact = LayerCake(lw.Prior.from_counts(counts), 1e-3).least_mass(sets)
    dear, cheap = (
        NoisyLayerCake(LETTERS, counts, 10_000, Fraction(cost), 1e-3).least_mass(sets) for cost in ("0.2", "0.02")
    )
    assert (cheap < dear).all()
    assert (dear < exact).all()
    # Sample and noise are bounded together: less than the sum of what both cost alone (920 rows for 7 values).
    lost = np.array(counts) @ sets - 10_000 * dear
    assert 100 < lost.max() < 350


@pytest.mark.parametrize(("size", "cost"), [(2, 0.3), (3, 0.5), (4, 0.2)])
def test_the_true_prior_is_inside_as_often_as_it_is_said(size: int, cost: float) -> None:
    generator, failure, rows, times = np.random.default_rng(size), 0.2, 400, 400
    prior = np.array([0.5, 0.3, 0.15, 0.05])[:size]
    prior /= prior.sum()
    alpha, sets = float(noise_ratio(Fraction(cost), size)), subsets(size)
    missed = 0
    for _ in range(times):
        counts = generator.multinomial(rows, prior)
        noise = generator.geometric(1 - alpha, size) - generator.geometric(1 - alpha, size)
        if size == 2:
            noise[1] = -noise[0]
        cake = NoisyLayerCake(Alphabet(range(size)), (counts + noise).tolist(), rows, Fraction(cost), failure)
        missed += bool((cake.least_mass(sets) > prior @ sets).any())
    assert missed <= failure * times


def test_noise_is_never_less_than_what_was_paid_for() -> None:
    for cost in (0.0001, 0.05, 1.0, 9.5):
        for size in (2, 3, 50):
            needed = math.exp(-cost / (1 if size == 2 else 2))
            assert needed <= float(noise_ratio(Fraction(cost), size)) <= needed + 2.0**-31


def test_a_certificate_for_noisy_counts_is_stored_and_checked(tmp_path: Path) -> None:
    rr = lw.randomized_response(LETTERS.labels, lift=2)
    found = lw.certify(rr, CAKE, lift=2)
    found.save(tmp_path / "c.json")
    again = lw.verify(tmp_path / "c.json")
    assert again.prior == CAKE
    assert again.ratio == found.ratio < 2
    text = (tmp_path / "c.json").read_text()
    assert '"version":2' in text  # a new kind of set
    assert CAKE.reordered(np.array([3, 2, 1, 0])).counts == CAKE.counts[::-1]


def test_a_certificate_that_claims_too_little_is_rejected() -> None:
    from dataclasses import replace

    rr = lw.randomized_response(LETTERS.labels, lift=2)
    found = lw.certify(rr, CAKE, lift=2)
    with pytest.raises(CertificateRejected, match="claims a largest lift"):
        replace(found, ratio=found.ratio - Fraction(1, 10**4)).verify()


@pytest.mark.parametrize(
    ("counts", "rows", "cost"),
    [
        ([1, 2, 3], 6, 1),
        ([1, 2, 3, 4], 0, 1),
        ([1, 2, 3, 4], 10, 0),
        ([4, 4], 9, 1),
        ([1, 2, 3, 4], 10, 10**9),  # of someone else's file: e^cost would not fit into memory
        ([1, 2, 3, 4], 10, 1e-12),
        ([1, 2, 3, 1 << 70], 10, 1),
        ([1, 2, 3, 4], 1 << 70, 1),
    ],
)
def test_what_cannot_be_noisy_counts_is_refused(counts: list[int], rows: int, cost: Any) -> None:
    letters = Alphabet(["no", "yes"]) if len(counts) == 2 else LETTERS
    with pytest.raises(InvalidInput, match=r"(counts|cost) must be"):
        NoisyLayerCake(letters, counts, rows, Fraction(cost), 0.1)
