"""The envelope of noise on a density: two proven bounds around the value of finer and finer finite mechanisms."""

from __future__ import annotations

import itertools
import json
import math
import pickle
from fractions import Fraction
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


UNIT = Density.uniform(0, 1)
TRIANGLE = Density.triangular(0, "0.3", 1)
GAP = Density.mixture({Density.uniform(0, "0.1"): "0.3", Density.triangular("0.5", "0.6", 1): "0.7"})


@pytest.mark.parametrize("kind", [Laplace, Gaussian], ids=lambda kind: kind.name)
@pytest.mark.parametrize("scale", [1e-5, 1e-4, 1e-3])
def test_little_noise_on_a_level_density_has_a_closed_form(kind: Any, scale: float) -> None:
    """Inside all outcomes have the lift f(0); twice that at the ends is too rare to matter, but takes others in."""
    noise = kind(scale=scale)
    for delta in (0.1, 0.5):
        low, high = noise.envelope_bounds(UNIT, delta)
        assert math.log(noise.peak) <= high <= math.log(noise.peak) + 2e-4
        assert high - 2e-6 <= low <= high


@pytest.mark.parametrize("kind", [Laplace, Gaussian], ids=lambda kind: kind.name)
@pytest.mark.parametrize(
    ("density", "delta", "gap"),
    [(TRIANGLE, 0.5, 0.02), (TRIANGLE, 0.05, 0.02), (NORMAL, 0.5, 3e-3), (GAP, 0.5, 0.03)],
    ids=["triangle", "triangle-rare", "normal", "gap"],
)
def test_little_noise_is_enclosed_around_its_limit(kind: Any, density: Density, delta: float, gap: float) -> None:
    """The smaller the noise, the more only the length of {π < s} counts: t·δ = f(0)·length and t·s = f(0)."""
    noise = kind(scale=1e-4 * (density.high - density.low))
    low, high = noise.envelope_bounds(density, delta)
    assert 0 < high - low <= gap
    points = density.low + (np.arange(400_000) + 0.5) / 400_000 * (density.high - density.low)
    level = np.sort(density.pdf(points[density.distance(points) == 0]))
    length = np.arange(1, len(level) + 1) / 400_000 * (density.high - density.low)
    # An outcome with π(y) < s takes in others until its lift is f(0)/s.
    s = float(level[np.searchsorted(level - delta / length, 0)])
    assert low - 0.02 <= math.log(noise.peak / s) <= high + 0.02


def test_a_cell_of_the_secret_beyond_a_gap_is_lifted_by_no_more_than_what_lies_between() -> None:
    """Likelihoods of zero, on the far side of a gap, do not let every guess of an interval count."""
    bounds = [Laplace(scale=scale).envelope_bounds(GAP, 0.01) for scale in (1e-4, 1e-5)]
    for low, high in bounds:
        assert high - low <= 0.15
    # Ten times less noise: ten times the lift.
    assert bounds[1][0] - bounds[0][1] <= math.log(10) <= bounds[1][1] - bounds[0][0]


@pytest.mark.parametrize("delta", ["1e-310", Fraction(1, 10**400)])
@pytest.mark.parametrize("noise", [Laplace(scale="0.1"), Gaussian(scale="0.1"), Staircase(epsilon=1, width="0.5")])
def test_a_chance_below_all_floats(noise: Any, delta: Any) -> None:
    density = Density.uniform(0, 1)
    lower, upper = noise.envelope_bounds(density, delta, grid=16)
    assert lower <= upper < math.inf
    if math.isfinite(noise.epsilon(density)):
        assert upper - lower < 0.05


@pytest.mark.parametrize(
    ("density", "delta", "close"),
    [
        (Density.truncated_normal("0.4", "0.01", 0, 1), "0.001", 1e-3),  # 0.1
        (Density.truncated_normal("0.4", "0.01", 0, 1), "0.3", 1e-3),  # 0.06
        (Density.triangular(0, "0.3", 1), "0.001", 0.07),  # 0.12
        (Density.piecewise([0, 1], [[0, 0, 1]]), "0.05", 3e-3),  # 5e-3
    ],
)
@pytest.mark.parametrize("noise", [Laplace(scale="1e-4"), Gaussian(scale="1e-4")])
def test_little_noise_on_a_density_that_is_not_level(noise: Any, density: Density, delta: str, close: float) -> None:
    """Guesses that no outcome lifts to t are told by what lies between them and it, and cells end where lifts do."""
    lower, upper = noise.envelope_bounds(density, delta)
    assert lower <= upper <= lower + close
