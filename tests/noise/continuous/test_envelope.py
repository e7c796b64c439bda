"""The envelope of noise on a density: two proven bounds around the value of finer and finer finite mechanisms."""

from __future__ import annotations

import itertools
import json
import math
import pickle
from typing import Any

import mpmath
import numpy as np
import pytest

import leakwise as lw
from leakwise.errors import InvalidInput
from leakwise.noise import Density, Gaussian, Laplace, Staircase
from leakwise.noise.continuous.leakage import largest_leakage

UNIFORM = Density.uniform(0, 100)
NORMAL = Density.truncated_normal(40, 12, 0, 100)


def pushed(noise: Any, density: Density, size: int, reach: float) -> tuple[lw.Mechanism, lw.Prior]:
    """The secret and the outcome in cells: leaks less than the density does, by data processing on both sides."""
    inner = 8
    x = np.linspace(density.low, density.high, 2 * size * inner + 1)[1::2]
    weights = density.pdf(x)
    cells = np.concatenate([[-1e9], np.linspace(density.low - reach, density.high + reach, size + 1), [1e9]])
    rows = np.array([[noise.between(a - v, b - v) for a, b in itertools.pairwise(cells)] for v in x])
    joint = (weights[:, None] * rows).reshape(size, inner, -1).sum(axis=1)
    joint[joint < 1e-15 * joint.sum()] = 0.0
    return lw.Mechanism(joint / joint.sum(axis=1, keepdims=True)), lw.Prior(joint.sum(axis=1) / joint.sum())


@pytest.mark.parametrize(
    ("noise", "reach", "gap"),
    [(Laplace(scale=20), 0.0, 0.03), (Gaussian(scale=20), 70.0, 0.08), (Staircase(1, 30), 90.0, 0.2)],
    ids=lambda case: getattr(case, "name", ""),
)
@pytest.mark.parametrize("density", [UNIFORM, NORMAL], ids=["uniform", "normal"])
def test_a_finite_pushforward_is_below_the_upper_bound_and_near(
    noise: Any, reach: float, gap: float, density: Density
) -> None:
    m, prior = pushed(noise, density, 32, reach)
    for delta in (0.05, 0.3):
        low, high = noise.envelope_bounds(density, delta, grid=48)
        finite = lw.envelope(m, prior, delta)
        assert finite.attained <= high
        assert 0 <= low <= high <= low + gap * high + 0.01
        assert low >= finite.attained - 0.1
        assert high <= min(noise.epsilon(density), noise.maximal_leakage(density) - math.log(delta)) + 1e-9


def test_a_finer_grid_brings_the_bounds_together() -> None:
    for noise in (Laplace(scale=20), Gaussian(scale=20)):
        bounds = [noise.envelope_bounds(UNIFORM, 0.3, grid=grid) for grid in (8, 24, 80)]
        gaps = [high - low for low, high in bounds]
        assert gaps[2] < gaps[1] < gaps[0]
        assert gaps[2] < 0.015
        # All of them enclose the same number.
        assert max(low for low, _ in bounds) <= min(high for _, high in bounds)


def test_the_limits_in_delta() -> None:
    laplace = Laplace(scale=20)
    pure = laplace.epsilon(NORMAL)
    low, high = laplace.envelope_bounds(NORMAL, 1e-9)
    assert pure - 1e-6 <= low <= high <= pure
    # Gaussian noise: finite at every δ, rising without bound as δ falls.
    found = [Gaussian(scale=20).envelope_bounds(UNIFORM, delta, grid=48) for delta in (0.5, 1e-3, 1e-12)]
    assert [low for low, _ in found] == sorted(low for low, _ in found)
    assert all(math.isfinite(high) for _, high in found)
    low, high = laplace.envelope_bounds(UNIFORM, 1)
    assert low <= high
    # Much noise: nothing is left.
    assert Laplace(scale=1e6).envelope_bounds(UNIFORM, 0.1)[1] < 1e-3


def test_what_is_asked_wrongly_is_refused() -> None:
    for delta in (0, -1, 2):
        with pytest.raises(InvalidInput, match="probability above 0"):
            Laplace(scale=1).envelope_bounds(UNIFORM, delta)
    with pytest.raises(InvalidInput, match="grid must be"):
        Laplace(scale=1).envelope_bounds(UNIFORM, 0.1, grid=2)


def test_the_audit_says_everything_and_shows_itself() -> None:
    for noise, delta in ((Laplace(scale=20), "0.3"), (Gaussian(scale=20), 0.05)):
        found = noise.audit(UNIFORM, delta, grid=32)
        assert found.epsilon == noise.epsilon(UNIFORM)
        assert found.envelope_seen <= found.envelope <= found.epsilon
        assert found.information <= found.information_most <= found.maximal_leakage
        assert "times as likely" in found.sentence
        assert repr(pickle.loads(pickle.dumps(found))) == repr(found)
        assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["gap"] == found.gap
        assert found.chart()["vconcat"]
    assert found.to_dict()["epsilon"] is None
    assert "no limit holds for every outcome" in found.sentence


@pytest.mark.parametrize("scale", [1e-4, 5e-4])
def test_outcomes_of_which_floats_know_nothing_do_not_lower_the_envelope(scale: float) -> None:
    # Guesses and cells so far apart that both their likelihoods underflow: 0/0 is no lift of 0.
    noise, gap = Laplace(scale=scale), Density.mixture({Density.uniform(0, 1): 1, Density.uniform(2, 3): 1})
    reached = 0.99 * math.log(1 / scale)  # an outcome inside an interval leaks log(1/scale), nearly all of them do
    assert noise.tail(gap, reached) > 0.9
    assert noise.envelope_bounds(gap, 0.5, grid=16)[1] >= reached


@pytest.mark.parametrize("scale", [1e3, 1e6, 1e9, 1e12])
def test_what_was_seen_is_below_a_leakage_of_next_to_nothing(scale: float) -> None:
    noise, unit = Laplace(scale=scale), Density.uniform(0, 1)
    with mpmath.workdps(60):
        true = mpmath.log(1 / mpmath.mpf(scale) / -mpmath.expm1(-1 / mpmath.mpf(scale)))
        assert noise.envelope_bounds(unit, 0.5, grid=16)[0] <= true
        assert largest_leakage(noise, unit)[0] <= true <= noise.epsilon(unit)
