"""Theorems 4 to 7 of the article: vertices listed from scratch, and bounds against mechanisms drawn at random."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from scipy.optimize import linprog

import leakwise as lw

SEEDS = range(8)


def vertices(rows: np.ndarray, limits: np.ndarray, masses: np.ndarray) -> Iterator[np.ndarray]:
    """List the vertices of {rows λ ≤ limits, masses·λ = 1} by trying all sets of tight constraints."""
    size = len(masses)
    found: list[np.ndarray] = []
    for tight in itertools.combinations(range(len(rows)), size - 1):
        system = np.vstack([masses, rows[list(tight)]])
        if abs(np.linalg.det(system)) < 1e-9:
            continue
        point = np.linalg.solve(system, np.concatenate([[1.0], limits[list(tight)]]))
        if (rows @ point <= limits + 1e-9).all() and not any(np.allclose(point, other, atol=1e-7) for other in found):
            found.append(point)
            yield point


def limits_of(size: int, t: float, a: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the constraints of a lift of t for the prior, of a for every prior (or at least zero), as rows."""
    pairs = [np.eye(size)[i] - a * np.eye(size)[j] for i in range(size) for j in range(size) if i != j and a < math.inf]
    ratios = np.array(pairs) if pairs else -np.eye(size)
    return np.vstack([np.eye(size), ratios]), np.concatenate([np.full(size, t), np.zeros(len(ratios))])


def masses_of(rng: np.random.Generator, size: int) -> np.ndarray:
    return np.array(lw.Prior(rng.integers(1, 15, size=size).tolist()).probabilities)


Utility = Callable[[np.ndarray], np.ndarray]


def utilities(rng: np.random.Generator, masses: np.ndarray) -> dict[str, Utility]:
    """Return utilities of columns, one per row of the argument, convex and homogeneous, not all symmetric."""
    guesses = rng.exponential(1, size=(3, len(masses)))

    def divergence(columns: np.ndarray, f: Utility) -> np.ndarray:
        mass = columns @ masses
        return mass * (f(columns / np.where(mass > 0, mass, 1)[:, None]) @ masses)

    return {
        "mutual information": lambda v: divergence(v, lambda x: np.where(x > 0, x * np.log(np.maximum(x, 1e-300)), 0)),
        "chi square": lambda v: divergence(v, lambda x: (x - 1) ** 2),
        "a guess": lambda v: (v @ (guesses * masses).T).max(1),
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_4_no_mechanism_beats_the_program_over_extreme_points(seed: int) -> None:
    rng = np.random.default_rng(seed + 50)
    size = int(rng.integers(2, 5))
    masses, t = masses_of(rng, size), float(rng.uniform(1.05, 3))
    a = math.inf if seed % 2 else 1.5 * t  # ε-PML, and with a limit for every prior
    columns = np.array(list(vertices(*limits_of(size, t, a), masses)))
    inputs = [rng.dirichlet(np.full(6, 0.3), size=size) for _ in range(30)]
    inputs += [np.eye(size), np.full((size, 2), 0.5)]
    for name, utility in utilities(rng, masses).items():
        solved = linprog(-utility(columns), A_eq=columns.T, b_eq=np.ones(size), bounds=(0, None))
        assert (solved.x > 1e-9).sum() <= size
        zeta = -solved.eqlin.marginals
        for matrix in inputs:
            law = masses @ matrix
            for share in np.linspace(1, 0, 101):  # the most of it that the limits admit, mixed with what says nothing
                mixed = share * matrix + (1 - share) * law
                if (mixed.max(0) <= np.minimum(t * law, a * mixed.min(0) if a < math.inf else math.inf) + 1e-12).all():
                    break
            found = utility(mixed.T).sum()
            assert found <= -solved.fun + 1e-9, name  # (a)
            assert found <= zeta.sum() + (utility(columns) - columns @ zeta).max() + 1e-9, name  # (b)


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_4_column_generation_and_the_global_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    masses, t = masses_of(rng, 4), float(rng.uniform(1.1, 3.5))
    columns = np.array(list(vertices(*limits_of(4, t, math.inf), masses)))
    inside = (columns > 1e-9) & (columns < t - 1e-9)
    assert inside.sum(1).max() <= 1  # (d)
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = np.nansum(masses * np.where(columns > 1e-12, columns * np.log(columns), 0.0), axis=1)
    solved = linprog(-worth, A_eq=columns.T, b_eq=np.ones(4), bounds=(0, None))
    optimum = -solved.fun
    assert (solved.x > 1e-9).sum() <= 4  # (a)
    design = lw.design(lw.Prior(masses.tolist()), lift=t, utility="mutual_information")
    assert design.value == pytest.approx(optimum, abs=1e-7)
    for y in rng.normal(0, 1, size=(50, 4)):
        assert y.sum() + (worth - columns @ y).max() >= optimum - 1e-9  # (b)
    best = -solved.eqlin.marginals
    assert best.sum() + (worth - columns @ best).max() == pytest.approx(optimum, abs=1e-8)  # (b), with the best vector
    assert masses @ np.minimum(math.log(t), -np.log(masses)) >= optimum - 1e-9  # (c)


def test_theorem_4_global_bounds_are_attained_where_sets_have_the_right_mass() -> None:
    masses, t = np.array([1 / 2, 1 / 4, 1 / 8, 1 / 8]), 2.0
    columns = np.array(list(vertices(*limits_of(4, t, math.inf), masses)))
    most = np.minimum(t, 1 / masses)
    functions: dict[str, Callable[[np.ndarray], np.ndarray]] = {  # 0 at the lift 1, each with its value at the lift 0
        "mutual information": lambda x: np.where(x > 0, x * np.log(np.maximum(x, 1e-300)), 0.0),
        "chi square": lambda x: (x - 1) ** 2,
        "Hellinger": lambda x: (np.sqrt(np.maximum(x, 0)) - 1) ** 2,
    }
    for name, f in functions.items():
        optimum = -linprog(-(f(columns) @ masses), A_eq=columns.T, b_eq=np.ones(4), bounds=(0, None)).fun
        start = f(np.zeros(4))
        assert masses @ (start + (f(most) - start) / most) == pytest.approx(optimum, abs=1e-9), name  # (c)
    assert masses @ np.minimum(math.log(t), -np.log(masses)) == pytest.approx(math.log(2))


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_5_extreme_columns_of_two_limits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 5))
    masses, t = masses_of(rng, size), float(rng.uniform(1.1, 3))
    a = t * float(rng.uniform(0.7, 5))
    if a <= 1:
        a = 1.3
    kinds = set()
    for column in vertices(*limits_of(size, t, a), masses):
        least, most = column.min(), column.max()
        between = int(((column > least + 1e-7) & (column < most - 1e-7)).sum())
        at_lift, at_ratio = abs(most - t) < 1e-7, abs(most - a * least) < 1e-7
        assert at_lift or at_ratio
        if at_lift and at_ratio:
            assert between <= 1
        elif at_ratio:
            assert between == 0
        else:
            assert (column < t - 1e-7).sum() == 1
        kinds.add((at_lift, at_ratio))
    assert kinds


@pytest.mark.parametrize(
    "masses", [[1 / 2, 1 / 2], [1 / 3] * 3, [1 / 4] * 4, [1 / 2, 1 / 4, 1 / 4], [0.7, 0.1, 0.1, 0.1]]
)
def test_theorem_5_all_kinds_of_columns_occur_and_bound_the_lift_for_every_prior(masses: list[float]) -> None:
    rng = np.random.default_rng(0)
    size, kinds = len(masses), set()
    for t, a in ((1.1, 1.3), (1.5, 1.2), (2.0, 2.0), (2.0, 20.0), (1.25, 50.0), (9.0, 1.5)):
        columns = list(vertices(*limits_of(size, t, a), np.array(masses)))
        assert columns
        for column in columns:
            least, most = column.min(), column.max()
            at_lift, at_ratio = abs(most - t) < 1e-9, abs(most - a * least) < 1e-9
            assert at_lift or at_ratio
            if at_ratio and not at_lift:
                assert np.all((abs(column - least) < 1e-9) | (abs(column - most) < 1e-9))
            elif at_ratio:
                assert ((abs(column - t / a) > 1e-9) & (abs(column - t) > 1e-9)).sum() <= 1
            else:
                assert (abs(column - t) > 1e-9).sum() == 1
            kinds.add((at_lift, at_ratio))
            others = [*np.eye(size), *rng.dirichlet(np.full(size, 0.3), size=20)]
            assert all(column.max() <= a * (other @ column) + 1e-9 for other in others)
    assert kinds >= {(False, True), (True, False)}
    if size > 2:  # (ii) needs a third letter, but for a coincidence
        assert (True, True) in kinds


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_6_bounds_on_the_recovered_frequencies(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, t = 4, float(rng.uniform(1.3, 3))
    masses = masses_of(rng, size)
    columns = np.array(list(vertices(*limits_of(size, t, math.inf), masses)))
    most = np.minimum(t, 1 / masses)
    # The library states the sum of the variances, tr J⁻¹ less the sum of the squared masses.
    design, square_sum = lw.design(lw.Prior(masses.tolist()), lift=t, utility="frequencies"), masses @ masses
    compared = 0
    for _ in range(10):  # a random mechanism of extreme columns: weights that solve Σ ρ λ = 1
        start = linprog(rng.normal(size=len(columns)), A_eq=columns.T, b_eq=np.ones(size), bounds=(0, None)).x
        other = linprog(rng.normal(size=len(columns)), A_eq=columns.T, b_eq=np.ones(size), bounds=(0, None)).x
        weights = (start + other) / 2
        information = (columns.T * weights) @ columns
        assert np.allclose(information @ masses, 1)  # (b)
        assert (np.diag(information) <= most + 1e-9).all()
        if np.linalg.cond(information) > 1e6:
            continue
        compared += 1
        trace = np.trace(np.linalg.inv(information))
        assert square_sum - design.bound <= trace + 1e-9
        merged = 0.5 * columns[:2].sum(0)  # (a): a column split into two has more information
        apart = 0.5 * (columns[:2].T @ columns[:2]) - np.outer(merged, merged)
        assert np.linalg.eigvalsh(apart).min() >= -1e-9
        root = rng.normal(size=(size, size))
        square = root + root.T  # (c): B symmetric, any z, the least d on a ray
        z = rng.normal(size=size)
        room = square @ square - (np.outer(z, masses) + np.outer(masses, z)) / 2
        diagonal = np.full(size, max(0.0, np.linalg.eigvalsh(room).max()))
        assert 2 * np.trace(square) - diagonal @ most - z.sum() <= trace + 1e-9
        near = information + 0.1 * root @ root.T  # (d)
        inverse = np.linalg.inv(near)
        y = rng.normal(size=size)
        reduced = np.einsum("ri,ij,rj->r", columns, inverse @ inverse, columns) - columns @ y
        assert 2 * np.trace(inverse) - y.sum() - reduced.max() <= trace + 1e-9
    assert compared >= 5
    best = design.mechanism.matrix  # (d) at the optimum, with the best vector, leaves nothing
    law = masses @ best
    inverse = np.linalg.inv((best / law) @ best.T)
    assert np.trace(inverse) == pytest.approx(square_sum - design.value, abs=1e-6)
    quality = np.einsum("ri,ij,rj->r", columns, inverse @ inverse, columns)
    zeta = -linprog(-quality, A_eq=columns.T, b_eq=np.ones(size), bounds=(0, None)).eqlin.marginals
    proved = 2 * np.trace(inverse) - zeta.sum() - (quality - columns @ zeta).max()
    assert proved == pytest.approx(np.trace(inverse), rel=1e-5)
    merged = np.hstack([best[:, :2].sum(1, keepdims=True), best[:, 2:]])  # (a): two columns in one say less
    assert np.linalg.eigvalsh((best / law) @ best.T - (merged / (masses @ merged)) @ merged.T).min() >= -1e-9
    uniform = lw.design(lw.Prior.uniform(4), lift=t, utility="frequencies")
    least = 1 / 4 + 9 / (4 * (t - 1))
    assert 1 / 4 - uniform.value >= least - 1e-8  # (e), attained for a lift of 2


def test_theorem_6_bounds_are_attained_for_equal_letters() -> None:
    size, t = 4, 2.0
    masses, average = np.full(size, 1 / size), np.full((size, size), 1 / size)
    columns = np.array(list(vertices(*limits_of(size, t, math.inf), masses)))
    least = 1 / size + (size - 1) ** 2 / (size * (t - 1))
    design = lw.design(lw.Prior.uniform(size), lift=2, utility="frequencies")
    assert 1 / size - design.value == pytest.approx(least, abs=1e-8)  # (e)
    inverse = average / size + (np.eye(size) - average) * (size - 1) / (size * (t - 1))
    square = inverse @ inverse
    rest = (least - 1 / size) / (size - 1)  # the other eigenvalues of the inverse, all equal
    d, z = np.full(size, rest**2), np.full(size, 1 / size**2 - rest**2)
    assert np.allclose(square, np.diag(d) + (np.outer(z, masses) + np.outer(masses, z)) / 2)
    assert 2 * np.trace(inverse) - t * d.sum() - z.sum() == pytest.approx(least)  # (c)
    for shift in (0.0, 0.7):  # (d): the same for every multiple of the masses
        zeta = np.full(size, shift)
        reduced = np.einsum("ri,ij,rj->r", columns, square, columns) - columns @ zeta
        assert 2 * np.trace(inverse) - zeta.sum() - reduced.max() == pytest.approx(least)


def information(masses: np.ndarray, rows: np.ndarray) -> float:
    """Return the mutual information of the secret and the outcome."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(masses @ np.where(rows > 0, rows * np.log(rows / (masses @ rows)), 0.0).sum(1))


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_7_sets_of_letters_suffice_under_maximal_leakage(seed: int) -> None:
    rng = np.random.default_rng(seed)
    masses = masses_of(rng, 4)
    sets = np.array(list(itertools.product([0, 1], repeat=4)))[1:]
    worth = -(sets @ masses) * np.log(sets @ masses)
    rows = rng.dirichlet(np.full(5, 0.5), size=4)
    total = rows.max(0).sum()
    solved = linprog(-worth, np.ones((1, 15)), [total], A_eq=sets.T, b_eq=np.ones(4), bounds=(0, None))
    assert (solved.x > 1e-9).sum() <= 5
    assert information(masses, rows) <= -solved.fun + 1e-9 <= math.log(total) + 2e-9
    attained = (sets * solved.x[:, None]).T  # a mechanism of sets, by itself
    assert np.allclose(attained.sum(1), 1)
    assert attained.max(0).sum() <= total + 1e-9
    assert information(masses, attained) == pytest.approx(-solved.fun)
    two = -linprog(-worth, np.ones((1, 15)), [2.0], A_eq=sets.T, b_eq=np.ones(4), bounds=(0, None)).fun
    for chosen in sets[:-1]:  # to say in which of two sets the secret is
        assert information(masses, np.stack([chosen, 1 - chosen], axis=1)) <= two + 1e-9
    equal = -linprog(sets.mean(1) * np.log(sets.mean(1)), np.ones((1, 15)), [2.0], A_eq=sets.T, b_eq=np.ones(4)).fun
    assert equal == pytest.approx(math.log(2))  # the limit itself: sets of half of four equal letters
    price = rng.exponential(0.5)  # the bound: the least values of the letters that a price of the sum allows
    values = linprog(np.ones(4), -sets, price - worth, bounds=(None, None))
    assert values.fun + price * total >= -solved.fun - 1e-9
    priced = np.hstack([sets, np.ones((15, 1))])  # the best price and values prove the optimum
    least = linprog([1, 1, 1, 1, total], -priced, -worth, bounds=[(None, None)] * 4 + [(0, None)])
    assert least.fun == pytest.approx(-solved.fun, abs=1e-9)
    apart: list[np.ndarray] = []
    for column in rows.T:  # its level sets, each with the step down to the next one
        levels = np.unique(column)[::-1]
        apart += [(high - low) * (column >= high) for high, low in itertools.pairwise([*levels, 0.0])]
    assert np.allclose(np.sum(apart, axis=0), 1)
    assert np.sum([column.max() for column in apart]) == pytest.approx(total)


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_7_holds_for_every_utility_and_at_the_ends(seed: int) -> None:
    rng = np.random.default_rng(seed + 70)
    masses = masses_of(rng, 3)
    sets = np.array(list(itertools.product([0, 1], repeat=3)))[1:]
    for name, utility in utilities(rng, masses).items():
        worth = utility(sets.astype(float))

        def most(total: float, worth: np.ndarray = worth) -> float:
            return -linprog(-worth, np.ones((1, 7)), [total], A_eq=sets.T, b_eq=np.ones(3), bounds=(0, None)).fun

        for _ in range(20):
            rows = rng.dirichlet(np.full(int(rng.integers(1, 7)), 0.4), size=3)
            assert utility(rows.T).sum() <= most(rows.max(0).sum()) + 1e-9, name
        assert most(1.0) == pytest.approx(utility(np.ones((1, 3)))[0]), name  # nothing is said
        assert most(3.0) == pytest.approx(utility(np.eye(3)).sum()), name  # everything
        assert most(9.0) == pytest.approx(most(3.0)), name
