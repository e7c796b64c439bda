"""Noise on a density: leakage against mpmath, closed forms and the limit of finite values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.errors import Infeasible, InvalidInput
from leakwise.exact import level
from leakwise.noise import Density, Gaussian, Laplace, Staircase
from leakwise.noise.continuous.leakage import information_between, largest_leakage, tail_between
from leakwise.noise.continuous.outcomes import Weighing

UNIFORM = Density.uniform(0, 100)
NORMAL = Density.truncated_normal(40, 12, 0, 100)
APART = Density.mixture({Density.uniform(0, 10): "0.3", Density.triangular(50, 60, 100): "0.7"})
MIXED = Density.mixture({Density.uniform(0, 100): "0.4", NORMAL: "0.6"})
NOISES = [Laplace(scale=20), Gaussian(scale=20), Staircase(1, 30), Staircase(2, 100, "0.3")]


def shape_of(noise: Any) -> tuple[Callable[[Any], Any], Callable[[float], list[float]]]:
    """f(d)/f(0) written again for mpmath, and the distances at which it is not smooth."""
    if isinstance(noise, Laplace):
        return lambda d: mpmath.exp(-abs(d) / noise.scale), lambda _: [0.0]
    if isinstance(noise, Gaussian):
        return lambda d: mpmath.exp(-((d / noise.scale) ** 2) / 2), lambda _: []
    kinks = [sign * (k + noise.step) * noise.scale for k in range(12) for sign in (1, -1)]
    return lambda d: mpmath.exp(-noise.fall * math.floor(abs(d) / noise.scale + 1 - noise.step)), lambda _: kinks


def by_mpmath(noise: Any, density: Density, y: float) -> float:
    shape, kinks = shape_of(noise)
    places = sorted({*density.edges, *(x for d in kinks(y) if density.low < (x := y - d) < density.high)})
    total = mpmath.mpf(0)
    for piece in density.pieces:
        inside = [x for x in places if piece.low <= x <= piece.high]
        inside = sorted({*inside, *np.linspace(piece.low, piece.high, 5).tolist()})
        unit = mpmath.mpf(1)

        def weight(x: Any, piece: Any = piece) -> Any:
            value = mpmath.polyval([mpmath.mpf(c.numerator) / c.denominator for c in reversed(piece.coefficients)], x)
            if piece.bell is not None:
                value *= mpmath.npdf(x, float(piece.bell[0]), float(piece.bell[1]))
            return value

        if piece.bell is not None:
            mean, sd = (float(part) for part in piece.bell)
            unit = mpmath.ncdf(piece.high, mean, sd) - mpmath.ncdf(piece.low, mean, sd)
        total += (
            sum(
                mpmath.quad(lambda x, weight=weight: weight(x) * shape(y - x), [a, b])
                for a, b in itertools.pairwise(inside)
            )
            / unit
        )
    top = shape(float(density.distance(y)))
    return float(mpmath.log(top / total))


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
@pytest.mark.parametrize("density", [APART, MIXED], ids=["apart", "mixed"])
def test_leakage_of_outcomes_is_that_of_mpmath_rounded_up(noise: Any, density: Density) -> None:
    outcomes = [-33.3, 7.1, 27.0, 61.7, 140.5]
    for found, y in zip(noise.pml(outcomes, density), outcomes, strict=True):
        expected = by_mpmath(noise, density, y)
        assert found == pytest.approx(expected, abs=1e-9)
        assert found >= expected - 1e-12


def test_laplace_noise_has_closed_forms() -> None:
    for width, b in ((100, 20), (1, 3), ("0.1", 7), (10, "0.5")):
        noise, density = Laplace(scale=b), Density.uniform(0, width)
        r = float(density.high) / float(noise.scale)
        expected = math.log(r / -math.expm1(-r))
        found = noise.epsilon(density)
        assert expected * (1 - 1e-12) <= found <= expected + 2e-9
        assert found < noise.every_prior(density)
    # Beyond the ends all outcomes say the same; the rise towards a rare end is where it is largest.
    noise = Laplace(scale=20)
    assert noise.pml([100, 150, 1e6], NORMAL).tolist() == pytest.approx([noise.epsilon(NORMAL)] * 3, rel=1e-8)


@pytest.mark.parametrize("noise", [Laplace(scale=20), Staircase(1, 30), Staircase(2, 100, "0.3")], ids=lambda n: n.name)
@pytest.mark.parametrize("density", [UNIFORM, APART, NORMAL], ids=["uniform", "apart", "normal"])
def test_epsilon_is_above_every_outcome_and_close(noise: Any, density: Density) -> None:
    seen, proven = largest_leakage(noise, density)
    y = np.linspace(-140, 240, 381)
    leaks = noise.pml(y, density)
    assert leaks.max() <= proven
    assert leaks.max() >= seen - 0.4 * 1.01  # a grid of outcomes misses the worst one, next to a step
    assert proven - seen <= 1e-6 * proven
    assert proven <= noise.every_prior(density)


@st.composite
def densities(draw: st.DrawFn) -> Density:
    size = draw(st.integers(1, 4))
    steps = draw(st.lists(st.integers(1, 9), min_size=size, max_size=size))
    edges = [0.0, *np.cumsum(steps).astype(float).tolist()]
    level = Density.histogram(edges, draw(st.lists(st.integers(1, 9), min_size=size, max_size=size)))
    if draw(st.booleans()):
        return level
    bell = Density.truncated_normal(draw(st.integers(-3, 12)), draw(st.sampled_from([1, 4])), 0, edges[-1])
    return Density.mixture({level: draw(st.integers(0, 3)), bell: 2})


@given(densities(), st.sampled_from([Laplace(scale=3), Gaussian(scale=4), Staircase(1, 5)]))
@settings(max_examples=12)
def test_finite_values_have_the_density_as_their_limit(density: Density, noise: Any) -> None:
    count = 2000
    edges = np.linspace(density.low, density.high, count + 1)
    x = (edges[:-1] + edges[1:]) / 2
    mass = density.pdf(x) * np.diff(edges)
    y = np.linspace(density.low - 6, density.high + 6, 23) + 0.0123
    shapes = noise.shape(np.abs(y[:, None] - x))
    expected = np.log(noise.shape(density.distance(y)) / (shapes @ (mass / mass.sum())))
    found = noise.pml(y, density)
    assert found.tolist() == pytest.approx(expected.tolist(), abs=0.01)
    if not isinstance(noise, Gaussian):
        assert found.max() <= noise.epsilon(density)


def test_more_noise_leaks_less_and_none_leaks_without_bound() -> None:
    for density in (UNIFORM, APART, MIXED):
        leaks = [Laplace(scale=b).epsilon(density) for b in (2, 20, 200, 2e8)]
        assert leaks == sorted(leaks, reverse=True)
        assert leaks[-1] < 1e-6
        assert leaks[0] > 3
    noise = Laplace.for_epsilon(prior=UNIFORM, lift=2)
    assert noise.epsilon(UNIFORM) <= math.log(2)
    assert Laplace(scale=noise.scale * (1 - 1e-6)).epsilon(UNIFORM) > math.log(2)
    assert noise.scale < 100 / math.log(2) / 2  # less than half of what differential privacy needs
    with pytest.raises(Infeasible, match=r"has no limit .* a probability delta: .* best_bins"):
        Gaussian.for_epsilon(prior=UNIFORM, lift=2)


def test_gaussian_noise_has_no_finite_epsilon_but_a_tail() -> None:
    noise = Gaussian(scale=20)
    assert noise.epsilon(UNIFORM) == math.inf
    far = noise.pml([120, 200, 1000, 1e5], UNIFORM)
    assert (np.diff(far) > 0).all()
    assert np.isfinite(far).all()
    # y → ∞: the posterior is exponential with rate (y - B)/σ² at the end, so ℓ grows as log(y·(B-A)/σ²).
    assert far[-1] == pytest.approx(math.log((1e5 - 100) * 100 / 400), abs=1e-2)
    y, x = np.linspace(-150, 250, 4001), np.linspace(0.1, 99.9, 500)
    shapes = noise.shape(y[:, None] - x).mean(axis=1)
    leaks = np.log(noise.shape(UNIFORM.distance(y)) / shapes)
    for epsilon in (0.8, 2.0):
        expected = float(noise.peak * shapes[leaks > epsilon].sum() * (y[1] - y[0]))
        low, high = tail_between(noise, UNIFORM, level(epsilon, None))
        assert low - 1e-3 <= expected <= high + 1e-3
        assert low <= high <= low + 1e-3
    assert noise.tail(UNIFORM, 30.0) < 1e-12


def test_a_density_next_to_a_point_leaks_nothing_between_its_ends() -> None:
    """All of the secret within 1e-9 of a value: whatever comes out, nothing new is said about it."""
    for noise in (Laplace(scale=1), Staircase(1, 10, "0.5")):
        assert noise.epsilon(Density.uniform(5, 5 + 1e-9)) <= (1e-8 if noise.name == "Laplace" else 1)
    spike = Density.mixture({Density.uniform(0, 100): "1e-6", Density.uniform(50, 50 + 1e-6): 1})
    # The ends are so improbable that they are told as differential privacy tells them.
    assert Laplace(scale=20).epsilon(spike) == pytest.approx(2.5, abs=1e-5)
    assert Laplace(scale=20).pml([50], spike)[0] == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("noise", NOISES[:3], ids=lambda noise: noise.name)
def test_mutual_information_and_maximal_leakage_by_sums_over_a_grid(noise: Any) -> None:
    step = 0.2
    y = np.arange(-700, 800, step) + step / 2
    # The density of the outcome is P(secret in the reach of the noise) for a uniform one.
    law = np.array([noise.between(v - 100, v) / 100 for v in y.tolist()])
    entropy = -float((law * np.log(law)).sum() * step)
    low, high = information_between(noise, UNIFORM)
    assert low <= high <= low + 2e-4
    assert low - 1e-5 <= entropy - noise.entropy() <= high + 1e-5
    fine = np.arange(-700, 800, step / 10)
    for density in (UNIFORM, APART):
        nearest = float(noise.shape(density.distance(fine)).sum() * step / 10 * noise.peak)
        assert noise.maximal_leakage(density) == pytest.approx(math.log(nearest), abs=1e-3)
    assert high <= noise.maximal_leakage(UNIFORM)


def test_noise_and_secret_must_be_of_the_same_kind() -> None:
    with pytest.raises(InvalidInput, match="Leave them out"):
        Laplace([0, 1], 2).epsilon(UNIFORM)
    with pytest.raises(InvalidInput, match="without values"):
        Laplace(scale=2).epsilon(lw.Prior([0.5, 0.5]))
    with pytest.raises(InvalidInput, match="must be a density"):
        Staircase(1, 1).epsilon(lw.Prior([0.5, 0.5]))
    for ask in (
        Laplace(scale=2).ldp,
        Laplace(scale=2).discretize,
        lambda: Laplace(scale=2).violations(lw.Prior.uniform(2), 1),
    ):
        with pytest.raises(InvalidInput, match="without values"):
            ask()
    with pytest.raises(InvalidInput, match="must be a density"):
        Gaussian(scale=2).maximal_leakage()
    with pytest.raises(InvalidInput, match="scale must be given"):
        Laplace()
    with pytest.raises(InvalidInput, match="finite numbers"):
        Laplace(scale=1).pml([math.inf], UNIFORM)
    with pytest.raises(InvalidInput, match="Subtract a constant"):
        Staircase(1, 1e-6).epsilon(Density.uniform(1e3, 1e3 + 1e-6))
    with pytest.raises(InvalidInput, match="step must be above 0"):
        Staircase(1, 1, 0)


@pytest.mark.parametrize("noise", [Laplace(scale=50), Gaussian(scale=50), Staircase("0.1", 50, "0.645")])
def test_the_cells_of_outcomes_have_probability_one_between_them(noise: Any) -> None:
    """An edge of the density is an end of cells, even where another end is the same up to its last digits."""
    for low in (0.0, 0.0562306, 1 / 3, -7.1, 0.1):
        density = Density.uniform(low, low + noise.scale * 10 / 3)
        cells, reach = Weighing(noise, density).everything(64, 1e-9)
        assert set(density.edges) <= {*cells.left.tolist(), *cells.right.tolist()}
        parts = (cells.width * mean for mean in (cells.inside_least, cells.inside_most))
        least, most = (noise.peak * math.fsum(part) for part in parts)
        assert least <= 1 <= most * (1 + 1e-12) + 2 * noise.upper_tail(reach)


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e9, 1e12])
def test_maximal_leakage_of_much_noise_is_not_rounded_below_the_truth(scale: float) -> None:
    gap = Density.mixture({Density.uniform(0, 0.1): 1, Density.uniform(1, 1.1): 1})
    with mpmath.workdps(60):
        b, half = mpmath.mpf(scale), (1 - mpmath.mpf(0.1)) / 2
        long = mpmath.mpf(0.1) + mpmath.mpf(1.1) - 1
        laplace = mpmath.log1p(long / (2 * b) - mpmath.expm1(-half / b))
        gauss = mpmath.log1p(long / (b * mpmath.sqrt(2 * mpmath.pi)) + mpmath.erf(half / b / mpmath.sqrt(2)))
        for noise, true in ((Laplace(scale=scale), laplace), (Gaussian(scale=scale), gauss)):
            assert true <= noise.maximal_leakage(gap) <= true * (1 + 1e-11)


@pytest.mark.parametrize("noise", [Laplace(scale=3), Gaussian(scale=3), Staircase(2, 3, "0.3")])
@pytest.mark.parametrize("near", [0.0, 0.7, 6.2])
@pytest.mark.parametrize("width", [1e-9, 1e-4, 0.05, 4.0])
def test_probabilities_of_narrow_intervals_keep_their_digits(noise: Any, near: float, width: float) -> None:
    far = near + width
    with mpmath.workdps(50):
        a, b = mpmath.mpf(near), mpmath.mpf(far)
        if isinstance(noise, Laplace):
            true = (mpmath.exp(-a / 3) - mpmath.exp(-b / 3)) / 2
        elif isinstance(noise, Gaussian):
            true = (mpmath.erfc(a / 3 / mpmath.sqrt(2)) - mpmath.erfc(b / 3 / mpmath.sqrt(2))) / 2
        else:
            falls = [(k + mpmath.mpf(noise.step)) * 3 for k in range(5)]
            ends = [a, *(r for r in falls if a < r < b), b]
            true = noise.peak * sum(
                (v - u) * mpmath.exp(-2 * mpmath.floor((u + v) / 6 + 1 - mpmath.mpf(noise.step)))
                for u, v in itertools.pairwise(ends)
            )
        assert noise.between(near, far) == pytest.approx(float(true), rel=1e-13)
        assert noise.between(-far, -near) == pytest.approx(float(true), rel=1e-13)
    assert noise.between(-near, math.inf) == pytest.approx(1 - noise.upper_tail(near), rel=1e-13)
    assert noise.between(1e4, math.inf) >= 0


UNIT = [
    Density.uniform(0, 1),
    Density.triangular(0, "0.3", 1),
    Density.truncated_normal("0.4", "0.12", 0, 1),
    Density.mixture({Density.uniform(0, "0.1"): "0.3", Density.triangular("0.5", "0.6", 1): "0.7"}),
]


@pytest.mark.parametrize("scale", [1e-4, 1e-2, 0.3, 10])
@pytest.mark.parametrize("kind", [Laplace, Gaussian], ids=lambda kind: kind.name)
@pytest.mark.parametrize("density", UNIT, ids=["uniform", "triangle", "normal", "gap"])
def test_bounds_on_cells_hold_inside_them(density: Density, kind: Any, scale: float) -> None:
    """At points inside, and their mean by Gauss-Legendre: from coarse cells to fine ones."""
    weighing = Weighing(kind(scale=scale), density)
    nodes, weights = np.polynomial.legendre.leggauss(9)
    for count in (12, 200):
        cells, _ = weighing.everything(count, 1e-6)
        cells = cells[cells.left < cells.right]
        cells = cells[:: max(1, len(cells) // 40)]
        y = (cells.left + cells.right)[:, None] / 2 + (cells.right - cells.left)[:, None] / 2 * nodes
        least, most = weighing.values(y.ravel())
        least, most = least.reshape(y.shape), most.reshape(y.shape)
        assert (cells.least[:, None] <= most).all()
        assert (least <= cells.most[:, None]).all()
        smooth = cells.right - cells.left <= kind(scale=scale).scale
        mean = (least @ weights)[smooth] / 2
        assert (cells.inside_least[smooth] <= mean * (1 + 1e-10) + 1e-300).all()
        assert (mean <= cells.inside_most[smooth] * (1 + 1e-10) + 1e-300).all()
        assert (cells.least <= cells.inside_least).all()
        assert (cells.inside_least <= cells.inside_most).all()
        assert (cells.inside_most <= cells.most).all()


@pytest.mark.parametrize("scale", [1e-5, 1e-4, 1e-3])
@pytest.mark.parametrize("density", UNIT, ids=["uniform", "triangle", "normal", "gap"])
def test_little_noise_is_known_to_nine_digits(density: Density, scale: float) -> None:
    noise = Laplace(scale=scale)
    seen, proven = largest_leakage(noise, density)
    assert seen <= proven <= seen * (1 + 2e-10) + 1e-9
    # No outcome leaks more: not at the edges, nor next to them, nor anywhere between.
    ends = np.array(density.edges)
    outcomes = np.concatenate([ends, ends + scale / 3, ends - scale / 3, np.linspace(-0.1, 1.1, 60)])
    assert noise.pml(outcomes, density).max() <= proven
    low, high = information_between(noise, density)
    assert low <= high <= low + 1e-4
    if density is UNIT[0]:
        with mpmath.workdps(40):
            r = 1 / mpmath.mpf(noise.scale)
            true = mpmath.log(r / -mpmath.expm1(-r))
            assert true <= proven <= true * (1 + mpmath.mpf(10) ** -9)
            assert seen <= true
            b = mpmath.mpf(noise.scale)

            def part(y: Any) -> Any:
                m = 1 - (mpmath.exp(-y / b) + mpmath.exp((y - 1) / b)) / 2
                return -m * mpmath.log(m)

            places = [0, *(scale * z for z in (1, 3, 8, 20, 50)), mpmath.mpf(1) / 2]
            inside = 2 * sum(mpmath.quad(part, pair) for pair in itertools.pairwise(places))
            # Beyond the ends m = m(0)·e^{-s/b}.
            m = -mpmath.expm1(-1 / b) / 2
            entropy = inside + 2 * b * m * (1 - mpmath.log(m))
            assert low <= entropy - (1 + mpmath.log(2 * b)) <= high


@pytest.mark.parametrize("fall", ["1e-3", "1e-6", "1e-9"])
def test_half_of_the_noise_is_on_either_side_however_slowly_it_falls(fall: str) -> None:
    noise = Staircase(epsilon=fall, width=1, step="0.25")
    assert noise.upper_tail(0.0) == pytest.approx(0.5, rel=1e-15)
    # f(t) is next to level: its entropy is that of e^{-ε|t|} ε/2.
    assert noise.entropy() == pytest.approx(1 - math.log(noise.fall / 2), abs=noise.fall)


@pytest.mark.parametrize("scale", ["1e-4", "1e-3", "0.1"])
def test_the_information_of_a_narrow_bell_is_known(scale: str) -> None:
    """Of two normals it is ½ log(1 + s²/σ²); cells in even steps are as wide as the bell, and knew it to 0.2 nats."""
    secret, noise = Density.truncated_normal("0.4", "1e-3", 0, 1), Gaussian(scale=scale)
    low, high = information_between(noise, secret)
    assert low <= math.log1p((1e-3 / noise.scale) ** 2) / 2 <= high <= low + 1e-4
