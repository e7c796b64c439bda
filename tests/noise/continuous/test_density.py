"""Densities: exact where they can be, integrals against mpmath, and what is refused."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

from leakwise.errors import InvalidInput
from leakwise.noise import Density


def test_probabilities_of_each_kind() -> None:
    assert Density.uniform(0, 10).mass(2, 5)[0] == pytest.approx(0.3, abs=1e-16)
    triangle = Density.triangular(0, 3, 10)
    assert triangle.probability(0, 3) == pytest.approx(0.3, abs=1e-15)
    assert triangle.pdf([3.0, 6.5]).tolist() == pytest.approx([0.2, 0.1])
    for low, mode, high in ((0, 0, 4), (0, 4, 4)):
        assert Density.triangular(low, mode, high).probability(0, 2) == pytest.approx(0.75 if mode == 0 else 0.25)
    bars = Density.histogram([0, 18, 65, 100], [1, 6, 3])
    assert [bars.probability(a, b) for a, b in ((0, 18), (18, 65), (65, 100))] == pytest.approx([0.1, 0.6, 0.3])
    normal = Density.truncated_normal(40, 12, 0, 100)
    whole = math.erf(60 / 12 / math.sqrt(2)) + math.erf(40 / 12 / math.sqrt(2))
    assert normal.probability(0, 40) == pytest.approx(math.erf(40 / 12 / math.sqrt(2)) / whole, abs=1e-15)
    both = Density.mixture({bars: 1, normal: 3})
    assert both.probability(0, 18) == pytest.approx(0.25 * 0.1 + 0.75 * normal.probability(0, 18), abs=1e-15)
    # Far from its mean a normal is all tail, and still has probability 1 on its interval.
    far = Density.truncated_normal(0, 1, 50, 60)
    assert far.mass(50, 60) == (pytest.approx(1.0, abs=1e-15), 1.0)
    assert np.isfinite(far.pdf([50.0, 51.0])).all()


def test_gaps_edges_and_bounds_on_the_density() -> None:
    apart = Density.mixture({Density.uniform(0, 1): 1, Density.triangular(5, 6, 7): 1})
    assert apart.support == ((0.0, 1.0), (5.0, 7.0))
    assert apart.distance([-2, 0.5, 2, 4.5, 8]).tolist() == [2, 0, 1, 0.5, 1]
    assert Density.piecewise([0, 1, 2, 3], [1, 0, 1]).support == ((0.0, 1.0), (2.0, 3.0))
    for density in (apart, Density.truncated_normal(3, 1, 0, 10), Density.piecewise([0, 2], [[0, 2, -1]])):
        peak, slope = density.steepness
        x = density.points(2001)
        values = density.pdf(x)
        assert values.max() <= peak <= 1.2 * values.max()
        inside = np.abs(np.diff(values) / np.diff(x))[np.diff(x) > 1e-6]
        assert np.median(inside) <= slope
        assert pickle.loads(pickle.dumps(density)) == density


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Density.uniform(1, 1), "low and high must be reals"),
        (lambda: Density.uniform(0, math.inf), "finite"),
        (lambda: Density.piecewise([0, 1, 2], [1]), "one for each interval"),
        (lambda: Density.piecewise([0, 1], [0]), "not all be zero"),
        (lambda: Density.piecewise([0, 2], [[1, -1]]), "nowhere below 0"),
        (lambda: Density.piecewise([0, 2], [-1]), "nowhere below 0"),
        # Below 0 between two roots that are a millionth apart, where no grid would look.
        (lambda: Density.piecewise([0, 1], [["0.25000025", "-1.000001", 1]]), "nowhere below 0"),
        (lambda: Density.histogram([0, 1, 2], [3, -1]), "counts must be numbers of at least 0"),
        (lambda: Density.truncated_normal(0, 0, -1, 1), "sd must be above 0"),
        (lambda: Density.mixture({Density.uniform(0, 1): 0}), "not all 0"),
        (lambda: Density.mixture({}), "not all 0"),
    ],
)
def test_what_is_not_a_density_is_refused(make, says: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidInput, match=says):
        make()


def test_a_polynomial_may_touch_zero_and_vanish_at_its_ends() -> None:
    bowl = Density.piecewise([0, 1], [["1/4", -1, 1]])
    assert bowl.probability(0, 0.5) == pytest.approx(0.5, abs=1e-15)
    hill = Density.piecewise(["1/3", 2], [[0, 0, 1]])
    assert hill.probability(0, 2) == pytest.approx(1.0, abs=1e-15)
    assert Density.piecewise([0, 2], [[0, 2, -1]]).probability(0, 1) == pytest.approx(0.5, abs=1e-15)


@pytest.mark.parametrize(
    "density",
    [
        Density.truncated_normal(3, "0.7", 0, 10),
        Density.truncated_normal(0, 1, 30, 40),
        Density.piecewise([0, 1, 3], [[0, 0, 2, 1], [3, -1]]),
        Density.mixture({Density.triangular(0, 1, 4): 1, Density.truncated_normal(2, "0.01", 0, 4): 3}),
    ],
    ids=["bell", "tail", "polynomials", "mixture"],
)
def test_slopes_bends_and_jumps_are_bounded_and_not_by_far(density: Density) -> None:
    """Against differences of the density at close points, and on both sides of its edges."""
    ends = np.unique(np.concatenate([np.linspace(density.low, density.high, 301), density.edges]))
    left, right = ends[:-1], ends[1:]
    bounds = density.largest(left, right)
    share = np.linspace(0.02, 0.98, 97)
    x = left[:, None] + (right - left)[:, None] * share
    h = (right - left)[:, None] * 0.01
    low, mid, high = density.pdf(x - h), density.pdf(x), density.pdf(x + h)
    seen = (mid, np.abs(high - low) / (2 * h), np.abs(high - 2 * mid + low) / h**2)
    for bound, value in zip(bounds, seen, strict=True):
        most = value.max(axis=1)
        assert (most <= bound * 1.001 + 1e-5 * bound.max()).all()
        assert bound.max() <= 1.5 * most.max() + 1e-9
    edges, tiny = np.array(density.edges), 1e-9
    values, slopes = [], []
    for side in (-1, 1):
        at, step = edges + side * tiny, side * 1e-6
        there = (at > density.low) & (at < density.high)
        values.append(np.where(there, density.pdf(at), 0.0))
        slopes.append(np.where(there, (density.pdf(at + step) - density.pdf(at)) / step, 0.0))
    scale = density.steepness
    for found, (before, after), size in zip(density.jumps, (values, slopes), (scale[0], bounds[2].max()), strict=True):
        assert found == pytest.approx(np.abs(after - before), rel=1e-3, abs=2e-6 * size)


def test_a_tail_below_all_floats_takes_no_time() -> None:
    # e^{-10^16/2} has an exponent that no fraction has room for.
    assert Density.truncated_normal(0, "1e-8", -1, 1).mass(-1, -0.9) == (0.0, math.ulp(0.0))


def test_a_normal_narrower_than_floats_is_refused() -> None:
    with pytest.raises(InvalidInput, match="last digits of the ends, -1 and 1"):
        Density.truncated_normal(0, "1e-160", -1, 1)


@pytest.mark.parametrize("steps", [1, 3, 5])
def test_slopes_on_pieces_of_a_few_floats_far_from_zero(steps: int) -> None:
    """The middle of a few neighbouring floats is rounded: the slope at the ends is within the bound all the same."""
    low = 1e6
    high = low + steps * math.ulp(low)
    peak = Density.piecewise([low, high], [[Fraction(low) ** 2, -2 * Fraction(low), 1]])
    top = Fraction(high) - Fraction(low)
    bounds = peak.largest(np.array([low]), np.array([high]))
    exact = [3 / top, 6 / top**2, 6 / top**3]  # of 3u²/top³ at u = top
    assert all(Fraction(float(bound[0])) >= true for bound, true in zip(bounds, exact, strict=True))
