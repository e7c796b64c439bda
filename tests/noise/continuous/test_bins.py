"""Noise in bins: the best of all partitions of a grid, what they lose, and that they never leak more."""

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
from leakwise.noise.continuous.bins import _apart, _best_groups

UNIFORM = Density.uniform(0, 100)
NORMAL = Density.truncated_normal(40, 12, 0, 100)
APART = Density.mixture({Density.uniform(0, 10): "0.3", Density.uniform(50, 100): "0.7"})


def information(joint: Any) -> float:
    outer = joint.sum(axis=1)[:, None] * joint.sum(axis=0)
    return float((joint * np.log(joint / outer)).sum())


@pytest.mark.parametrize("seed", range(4))
def test_the_dynamic_program_finds_the_best_of_all_groups(seed: int) -> None:
    joint = np.random.default_rng(seed).dirichlet(np.ones(45)).reshape(9, 5)
    for count in (1, 2, 4, 9):
        every = [
            information(np.add.reduceat(joint, [0, *starts], axis=0))
            for starts in itertools.combinations(range(1, 9), count - 1)
        ]
        starts, found = _best_groups(joint, count)
        assert found == pytest.approx(max(every), abs=1e-12)
        assert information(np.add.reduceat(joint, starts, axis=0)) == pytest.approx(found, abs=1e-12)


@pytest.mark.parametrize(
    ("noise", "density"),
    [(Laplace(scale=20), NORMAL), (Laplace(scale=20), APART), (Gaussian(scale=20), NORMAL), (Staircase(1, 30), APART)],
    ids=["Laplace", "Laplace-apart", "Gaussian", "staircase"],
)
def test_bins_leak_no_more_than_the_noise_and_lose_what_they_say(noise: Any, density: Density) -> None:
    found = noise.best_bins(density, 5, 7, grid=40)
    found.certificate.verify()
    assert found.mechanism.shape == (5, 7)
    assert found.epsilon <= noise.epsilon(density)
    assert found.epsilon == lw.certify(found.mechanism, found.prior).epsilon_upper
    high = found.noise_information
    assert found.value <= found.bound <= high + 1e-8
    assert found.loss == high - found.value
    assert found.value == pytest.approx(lw.mutual_information(found.mechanism, found.prior.nominal), abs=1e-10)
    assert lw.maximal_leakage(found.mechanism) <= noise.maximal_leakage(density)
    # The set of priors is the density's own probabilities and next to nothing more.
    masses = [density.probability(a, b) for a, b in itertools.pairwise(found.edges)]
    assert found.prior.nominal.probabilities.tolist() == pytest.approx(masses, abs=1e-14)
    assert float(max(b - a for a, b in zip(found.prior.lower, found.prior.upper, strict=True))) < 1e-14
    assert repr(pickle.loads(pickle.dumps(found))) == repr(found)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["loss"] == found.loss
    assert found.chart()


def test_a_bell_between_two_edges_of_the_grid_is_not_missed() -> None:
    """Narrower than a cell by far, and most of the probability: bins still leak no more than the noise."""
    spike = Density.mixture({UNIFORM: 1, Density.truncated_normal("33.3", "0.01", 0, 100): 20})
    for noise in (Laplace(scale=20), Laplace(scale=4)):
        found = noise.best_bins(spike, 4, grid=20)
        assert found.epsilon <= noise.epsilon(spike)
        assert found.value <= found.noise_information


def test_rows_are_averages_over_bins_by_mpmath() -> None:
    found = Laplace(scale=20).best_bins(NORMAL, 3, grid=20)
    low, high = found.edges[1], found.edges[2]
    cut = float(str(found.mechanism.outputs[0]).strip("()").split(", ")[1])

    def weight(x: Any) -> Any:
        return mpmath.npdf(x, 40, 12)

    def below(x: Any) -> Any:
        return mpmath.exp((cut - x) / 20) / 2 if x > cut else 1 - mpmath.exp((x - cut) / 20) / 2

    places = sorted({low, high, min(max(cut, low), high)})
    expected = mpmath.quad(lambda x: weight(x) * below(x), places) / mpmath.quad(weight, [low, high])
    assert found.mechanism.matrix[1, 0] == pytest.approx(float(expected), abs=1e-9)


def test_more_bins_lose_less_and_a_release_draws_from_them() -> None:
    noise = Laplace(scale=20)
    found = [noise.best_bins(UNIFORM, count, grid=60) for count in (2, 4, 12, 60)]
    losses = [one.loss for one in found]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.01 * found[0].noise_information
    leaks = [one.epsilon for one in found]
    assert leaks == sorted(leaks)
    assert leaks[-1] <= noise.epsilon(UNIFORM)
    m = found[1].mechanism
    out = lw.release({"age": [3.0, 99.5, 41.0] * 50}, m, column="age", order="keep")
    assert set(out["age"]) <= set(m.outputs)
    assert math.isfinite(Gaussian(scale=20).best_bins(UNIFORM, 4, grid=20).epsilon)


def test_what_cannot_be_put_into_bins_is_refused() -> None:
    for asked, says in (
        ({"bins": 1}, "bins must be"),
        ({"bins": 9, "grid": 8}, "bins must be"),
        ({"outcomes": 1}, "outcomes"),
    ):
        with pytest.raises(InvalidInput, match=says):
            Laplace(scale=20).best_bins(UNIFORM, **asked)


@pytest.mark.parametrize("noise", [Laplace(scale=0.003), Gaussian(scale=0.003), Staircase(2, "0.3", "0.4")])
def test_narrow_noise_and_steep_densities_are_averaged_over_the_whole_bin(noise: Any) -> None:
    # x^20, against the average over many more points than the noise is wide.
    steep = Density.piecewise([0, 1], [[0] * 20 + [1]])
    binned = noise.best_bins(steep, 2, 3, grid=6)
    x = (np.arange(20_000) + 0.5) / 20_000
    cut = binned.edges[1]
    ends = [float(end) for end in binned.mechanism.output_alphabet.edges]
    weights, rows = x**20, []
    chances = np.array([[noise.between(a - v, b - v) for a, b in itertools.pairwise(ends)] for v in x.tolist()])
    for inside in (x < cut, x >= cut):
        rows.append(weights[inside] @ chances[inside] / weights[inside].sum())
    assert binned.mechanism.matrix == pytest.approx(np.array(rows), abs=2e-4)


@pytest.mark.parametrize("noise", [Laplace(scale=20), Gaussian(scale=5), Staircase(1, 30)], ids=lambda one: one.name)
@pytest.mark.parametrize("density", [UNIFORM, NORMAL], ids=["uniform", "normal"])
def test_the_bound_is_above_all_partitions_of_the_grid_by_a_hair(noise: Any, density: Density) -> None:
    """Every way to group six cells, with the outcomes in all intervals of the grid, averaged over many points."""
    few = noise.best_bins(density, 3, 6, grid=6)
    more = 0 if isinstance(noise, Laplace) else min(math.ceil(noise.reach(1e-6) / (100 / 6)), 6)
    cuts = np.linspace(-more * 100 / 6, 100 + more * 100 / 6, 7 + 2 * more).tolist()
    t, w = np.polynomial.legendre.leggauss(200 if isinstance(noise, Staircase) else 60)
    rows = []
    for a, b in itertools.pairwise(np.linspace(0, 100, 7).tolist()):
        x = (a + b) / 2 + (b - a) / 2 * t
        mass = density.pdf(x) * w * (b - a) / 2
        ends = [-math.inf, *cuts, math.inf]
        rows.append(mass @ [[noise.between(u - v, z - v) for u, z in itertools.pairwise(ends)] for v in x.tolist()])
    joint = np.array(rows)
    by_rows = max(
        information(np.add.reduceat(joint, [0, *starts], axis=0)) for starts in itertools.combinations(range(1, 6), 2)
    )
    digits = 1e-4 if isinstance(noise, Staircase) else 1e-10
    assert few.bound >= by_rows - digits
    assert few.bound <= by_rows + digits or few.bound <= few.noise_information
    assert few.value <= few.bound <= few.noise_information


def test_a_bin_that_no_float_gives_a_probability_says_what_all_of_them_do() -> None:
    narrow = Density.truncated_normal(0, "1e-3", -1, 1)
    binned = Laplace(scale="0.1").best_bins(narrow, 3, grid=20)
    assert binned.mechanism.matrix.sum(axis=1).tolist() == pytest.approx([1, 1, 1])
    assert binned.value <= binned.bound <= binned.noise_information
    binned.certificate.verify()


def test_where_quadrature_knows_nothing_the_bound_is_that_of_the_noise() -> None:
    # The nodes of a bell as narrow as this are known to more than a width of it.
    assert _apart(0.5, (20, 20), 3) == _apart(4e8, (20, 20), 3) == math.inf
    binned = Laplace(scale="0.1").best_bins(Density.truncated_normal(0, "1e-11", -1, 1), 3, grid=20)
    assert binned.bound == binned.noise_information
