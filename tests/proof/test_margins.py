"""The checker's bounds on the largest variance: below every mechanism, and claims that say more are rejected."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.errors import CertificateRejected
from leakwise.proof.optimality.margins import largest_variance, least_by_multipliers, least_by_root, shares_of
from proof.vertices import box_vertices


def variances(lifts, law, p, contrasts):
    inverse = np.linalg.inv((lifts * law) @ lifts.T)
    return np.diag(contrasts.T @ inverse @ contrasts) - (p @ contrasts) ** 2


@given(
    st.lists(st.integers(1, 30), min_size=3, max_size=6),
    st.floats(1.1, 4),
    st.lists(st.floats(0.01, 1), min_size=30, max_size=30),
)
@settings(max_examples=60)
def test_no_mechanism_is_below_the_bounds_of_any_multipliers(weights, lift, numbers):
    p = np.array(weights) / sum(weights)
    size = len(p)
    contrasts = np.concatenate([np.eye(size), np.array(numbers[:size])[:, None]], axis=1)
    shares = shares_of(np.array(numbers[size : 2 * size + 1]))
    vertices = box_vertices(p, 0.0, lift)
    high = np.minimum(lift, 1 / p)
    d = 2 * np.array(numbers[15 : 15 + size])
    generator = np.random.default_rng(len(weights))
    root = generator.standard_normal((size, size + 1))
    squares = float((np.abs(root.T @ vertices) ** 2).sum(axis=0).max())
    low = [
        least_by_multipliers(shares, contrasts, p, d, float(d @ high)),
        least_by_root(shares, contrasts, p, root, squares),
    ]
    # Mixtures of the constant column with whatever else is allowed: rows that add up to one.
    for _ in range(5):
        sample = vertices[:, generator.integers(vertices.shape[1], size=2 * size)]
        rest = 1 - sample @ np.full(2 * size, 0.05 / size)
        columns = np.concatenate([sample, (rest / (p @ rest))[:, None]], axis=1)
        law = np.append(np.full(2 * size, 0.05 / size), p @ rest)
        if np.linalg.cond((columns * law) @ columns.T) < 1e9 and columns.max() <= lift * (1 + 1e-12):
            true = variances(columns, law, p, contrasts).max()
            assert max(low) <= true * (1 + 1e-9)
            assert true <= largest_variance(columns, law, p, contrasts) <= true * (1 + 1e-5) + 1e-9


@pytest.fixture(scope="module", params=[None, 8])
def certificate(request):
    return lw.design([0.4, 0.3, 0.2, 0.1], margin=0.02, rows=12_000, anyone=request.param).certificate


def test_an_honest_claim_is_confirmed(certificate):
    assert certificate.verify().optimality.utility == "margin"


@pytest.mark.parametrize(
    "change",
    [
        lambda c: {"high": c.high * Fraction(103, 100), "ldp": None},
        lambda c: {"value": c.value * 0.99},
        lambda c: {"bound": c.bound * 1.01},
        lambda c: {"bound": -0.99},
        lambda c: {"value": -1.5},
        lambda c: {"gains": 0.97 * c.gains},
        lambda c: {"gains": 1.03 * c.gains},
        lambda c: {"duals": np.concatenate([np.eye(4)[1], c.duals[4:]])},
        lambda c: {"duals": np.concatenate([-c.duals[:4], c.duals[4:]])},
        lambda c: {"duals": c.duals[:-1]},
        lambda c: {"duals": 1.2 * c.duals},
        lambda c: {"gains": None},
        lambda c: {"gains": c.gains[:3]},
    ],
)
def test_a_claim_that_says_more_is_rejected(certificate, change):
    claim = certificate.optimality
    forged = replace(certificate, optimality=replace(claim, **change(claim)))
    with pytest.raises(CertificateRejected):
        forged.verify()


def test_it_is_stored_in_a_version_of_its_own(certificate, tmp_path):
    path = tmp_path / "proof.json"
    certificate.save(path)
    assert lw.verify(path).optimality.gains.shape == (4, 4)
    assert '"version":4' in path.read_text(encoding="utf-8")
