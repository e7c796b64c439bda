"""Designs for statistics: the least asymptotic error of the recovered frequencies.

Minimise trace J(ρ)⁻¹ with J = Σ_r ρ_r λ_r λ_rᵀ over weights with Σ_r ρ_r λ_r = 1. The master is smooth and convex: a
barrier method with exact second derivatives. Linearised at an optimum, a column is worth λᵀ J⁻² λ, convex in λ: so
extreme rays suffice, and the same pricing picture gives the bound.
"""

from __future__ import annotations

import math

import numpy as np

from leakwise.errors import NotConverged
from leakwise.optimize.bounds.least_trace import least_trace_bound
from leakwise.optimize.pricing.arcs import arc_columns
from leakwise.optimize.pricing.vertex_list import list_vertices, listed, vertex_count_bound
from leakwise.optimize.problem.cones import Cone, LiftBox
from leakwise.optimize.search.limits import Found, Limits
from leakwise.types import Floats

__all__ = ["search_frequencies"]


_ROUNDS = 200
_ALL_VERTICES = 120_000  # up to so many are priced one by one, which makes the bound exact
_RELATIVE_GAP = {True: 1e-8, False: 1e-4}  # where every vertex is listed, and where not: nobody's intervals notice
_PATIENCE = 4  # rounds without progress before a search without an exact proof ends
_COLUMNS = 2400  # at most: their square is held several times over
_COLUMNS_ANYHOW = 500  # a few hundredths of a second
_START = 1.0  # second, at least, for the first weights
_COLUMNS_WIDE = 1600  # where that is fewer than J has degrees of freedom: more do not pay
_COLUMNS_OF_A_SECOND = 400
_ARCS = (3, 8)  # times the letters, at least and at most, where nothing is searched
_ENTRIES_OF_A_SECOND = 60_000  # of a mechanism: they are rounded and certified one by one, as Python's integers
_INWARDS = 2.0**-30
_WORTH_WEIGHING = 6  # times the letters
_TIDYING = 5.0  # seconds for having fewer outcomes
_PROGRESS = 3e-4  # what counts as progress, relative to the value


def search_frequencies(cone: Cone, limits: Limits, every: Floats | None = None) -> Found:
    """Return the weights and columns of least trace J⁻¹, with a bound on all others; ``every`` vertex may be given."""
    try:
        return _search(cone, limits, every)
    except np.linalg.LinAlgError as error:
        raise NotConverged(
            "the columns are so much alike that the information matrix is singular in doubles.",
            lower=-np.inf,
            upper=0.0,
        ) from error


def _search(cone: Cone, limits: Limits, every: Floats | None) -> Found:
    p = cone.prior.probabilities
    size = len(p)
    generator = np.random.default_rng(size)  # not for privacy: the search is the same every time
    most = _most_columns(size, limits.seconds)
    wide = isinstance(cone, LiftBox) and cone.high > 1 and size * (size + 1) // 2 + 8 * size > most and every is None
    if not wide:
        objectives = np.concatenate([np.eye(size), -np.eye(size), generator.standard_normal((size, 6 * size))], axis=1)
        columns = _distinct(cone.linear_max(objectives)[1])
        if np.linalg.matrix_rank(columns) < size:
            # Only where nothing but the constant column is allowed: then no mechanism tells the letters apart.
            return Found(np.ones((size, 1)), np.ones(1), np.empty(0), 0.0, "rank", proven=-np.inf)
    if every is None and not wide:
        every = _every_vertex(cone)
    least, multipliers = least_trace_bound(cone, limits.part(0.1 if wide else 0.3))
    bound = float(p @ p) - least
    proof: tuple[Floats, Floats | None] = (multipliers, None)
    accuracy, best, waited, stopped, rounds = 1.0, -np.inf, 0, False, _ROUNDS
    if wide:
        assert isinstance(cone, LiftBox)
        most = min(most, _COLUMNS_WIDE)
        # As many columns as J has degrees of freedom are too many: arcs of circles are a good start, without a program.
        kept = arc_columns(cone, _affordable_arcs(size, limits.seconds), generator)
        if not _regular(*kept):
            raise limits.over()  # too few arcs to tell so many letters apart
        best = _linearised(*kept, p)[0]
        limits.tell("arcs", best, bound)
        columns, weights = arc_columns(cone, most, generator)
        rounds = _ROUNDS if most >= _WORTH_WEIGHING * size else 0  # weights of fewer columns are no better than equal
    else:
        # The constant column makes the start feasible, those of the bound make it good.
        promising = _promising(cone, multipliers[:size], every, generator, min(size * (size + 1) // 2, most))
        columns = _distinct(np.concatenate([np.ones((size, 1)), columns, promising], axis=1))
        # So few columns need a start more than they need the time that it takes.
        weights = _interior(
            columns, Limits(seconds=None if limits.remaining is None else max(limits.remaining, _START))
        )
        kept = (columns, weights)
    for number in range(rounds):
        if number and limits.exhausted:
            stopped = True
            break
        weights = _least_trace(columns, weights, accuracy, limits)
        value, worth, inverse = _linearised(columns, weights, p)
        centre = inverse @ inverse
        y = _duals(columns, worth, weights)
        if every is not None:
            costs = np.einsum("ij,ij->j", every, centre @ every) - y @ every
            largest = float(costs.max())
            found = every[:, np.argsort(-costs)[: 2 * size]]
        else:
            found, largest = _climb(cone, centre, y, generator, min(2 * size, most // 4))
        # For convex Φ: Φ* ≥ Φ(ρ) - (max over mechanisms of Σ worth·ρ' - Σ worth·ρ), where the maximum is at most
        # Σ y + largest if that is the largest of all columns.
        slack = float(y.sum()) + max(largest, 0.0) - float(worth @ weights)
        if every is not None and value + slack < bound:
            bound, proof = value + slack, (y, inverse)
        limits.tell("columns", value, bound)
        waited = 0 if value > best + (_PROGRESS if every is None else 1e-9) * abs(value) else waited + 1
        if value > best:
            best, kept = value, (columns, weights)
        if bound - best <= max(limits.tolerance, _RELATIVE_GAP[every is not None] * abs(best)) or waited >= _PATIENCE:
            break
        finest = 1e-10 * abs(value) if every is not None else 1e-3 * (bound - value)
        accuracy = max(min(0.3 * accuracy, 1e-2 * slack), finest)
        if wide:
            columns, weights = _replaced(columns, weights, found)
            continue
        try:
            columns, weights = _extended(columns, weights, worth - y @ columns, found, most, limits)
        except NotConverged:  # no time for it: what was found so far stands
            stopped = True
            break
    columns, weights = kept
    used = weights > 1e-7
    lifts, weights = _fewest(columns[:, used], weights[used], limits)
    # Dropping the dust of the barrier leaves the rows slightly off: put them right on the columns that stay.
    weights = _corrected(lifts, weights)

    def inner() -> tuple[Floats, Floats] | None:
        # Arcs have two letters between: a little of the constant column takes them inside.
        inside = 1 + (1 - _INWARDS) * (lifts - 1) if wide else cone.slightly_inside(lifts)
        return None if inside is None else (inside, _corrected(inside, weights))

    duals, root = proof
    how = "trace" if root is None else "vertices"
    return Found(lifts, weights, duals, 0.0, how, stopped=stopped, inner=inner, proven=bound, root=root)


def _most_columns(size: int, seconds: float | None) -> int:
    """How many columns fit the time: a Newton step takes their number to the third, and several dozen are needed.

    A function of the limit, not of the clock: the same request has the same answer.
    """
    affordable = _COLUMNS if seconds is None else int(_COLUMNS_OF_A_SECOND * seconds ** (1 / 3))
    return max(min(affordable, _COLUMNS), _COLUMNS_ANYHOW, 2 * size + 2)


def _affordable_arcs(size: int, seconds: float | None) -> int:
    """How many arcs can be certified in a good part of the time."""
    least, most = (times * size for times in _ARCS)
    affordable = math.inf if seconds is None else _ENTRIES_OF_A_SECOND * max(seconds, 1.0) / size
    return int(max(least, min(most, affordable)))


def _promising(
    cone: Cone, multipliers: Floats, every: Floats | None, generator: np.random.Generator, number: int
) -> Floats:
    """Columns with (almost) all entries at an end of their box, weighed by the multipliers of the trace bound."""
    size = len(multipliers)
    low, high = cone.entry_box()
    linear = multipliers * (low + high)
    if every is None:
        return _climb(cone, np.diag(multipliers), linear, generator, number)[0] if number > 0 else np.empty((size, 0))
    costs = multipliers @ every**2 - linear @ every
    return every[:, np.argsort(-costs, kind="stable")[: max(number, 0)]]


def _replaced(columns: Floats, weights: Floats, found: Floats) -> tuple[Floats, Floats]:
    """As many columns as before, the lightest replaced by new ones, with weights that nearly add up to one."""
    heavy = np.argsort(-weights, kind="stable")[: len(weights) - found.shape[1]]
    columns = np.concatenate([columns[:, heavy], found], axis=1)
    weights = np.concatenate([0.95 * weights[heavy], np.full(found.shape[1], 0.05 / found.shape[1])])
    return columns, np.maximum(_corrected(columns, weights), 1e-3 / len(weights))


def _extended(
    columns: Floats, weights: Floats, costs: Floats, found: Floats, most: int, limits: Limits
) -> tuple[Floats, Floats]:
    """The columns that may be in use at the optimum and the new ones, with positive weights that add up to one."""
    size = len(columns)
    # J has so many degrees of freedom
    room = min(size * (size + 1) // 2 + 8 * size, most - found.shape[1])
    keep = np.argsort(-costs, kind="stable")[:room]
    together = np.concatenate([columns[:, keep], found], axis=1)
    _, places = np.unique(together.round(12), axis=1, return_index=True)
    places = np.sort(places)
    old = np.concatenate([weights[keep], np.zeros(found.shape[1])])[places]
    chosen = together[:, places]
    return chosen, 0.9 * old + 0.1 * _interior(chosen, limits)  # Newton's steps make up for what was dropped


def _every_vertex(cone: Cone) -> Floats | None:
    size = len(cone.prior)
    if isinstance(cone, LiftBox) and cone.low == 0:
        count = vertex_count_bound(size, cone.prior.region(lift=cone.high))
    elif isinstance(cone, LiftBox):
        count = size * 2 ** (size - 1)
    elif cone.lift_range() is not None:
        count = (size + 1) * 2**size
    else:
        count = 0 if listed(cone) else _ALL_VERTICES + 1
    return list_vertices(cone) if count <= _ALL_VERTICES else None


def _regular(columns: Floats, weights: Floats) -> bool:
    """Whether J can be inverted in doubles: the trace of the inverse of a singular one is any number at all."""
    eigenvalues = np.linalg.eigvalsh((columns * weights) @ columns.T)
    return bool(eigenvalues[0] > 1e-11 * eigenvalues[-1])


def _distinct(columns: Floats) -> Floats:
    _, places = np.unique(columns.round(12), axis=1, return_index=True)
    return columns[:, np.sort(places)]


def _linearised(columns: Floats, weights: Floats, p: Floats) -> tuple[float, Floats, Floats]:
    """The value Σπ² - trace J⁻¹, what each column is worth, and the matrix J⁻¹."""
    information = (columns * weights) @ columns.T
    inverse: Floats = np.linalg.inv(information).astype(np.float64)
    half = inverse @ columns
    worth: Floats = np.einsum("ij,ij->j", half, half)
    return float((p**2).sum() - np.trace(inverse)), worth, inverse


def _duals(columns: Floats, worth: Floats, weights: Floats) -> Floats:
    """Duals of Σρλ = 1: at the optimum y·λ_r = worth_r for every column in use."""
    root = np.sqrt(weights)
    return np.linalg.lstsq((columns * root).T, worth * root, rcond=None)[0].astype(np.float64)


def _least_trace(columns: Floats, weights: Floats, accuracy: float, limits: Limits) -> Floats:
    """Barrier method for min trace J(ρ)⁻¹ s.t. columns·ρ = 1, ρ > 0, from an interior start to an accuracy."""
    size, count = columns.shape
    # A start from old weights and new columns is far from any central path: begin with a barrier that it can follow.
    barrier = max(accuracy, 1e-4, 1e-4 * abs(_objective(columns, weights, 0.0))) / count
    ones = np.ones(size)
    while True:
        current = _objective(columns, weights, barrier)
        for _ in range(40):
            inverse = np.linalg.inv((columns * weights) @ columns.T)
            half = inverse @ columns
            worth = np.einsum("ij,ij->j", half, half)
            gradient = -worth - barrier / weights
            hessian = 2 * (columns.T @ half) * (half.T @ half) + np.diag(barrier / weights**2)
            step = _newton_step(hessian, gradient, columns, ones - columns @ weights)
            decrement = float(step @ hessian @ step)
            shrinking = step < 0
            length = min(1.0, 0.95 * float((-weights[shrinking] / step[shrinking]).min())) if shrinking.any() else 1.0
            while length > 1e-9:
                following = _objective(columns, weights + length * step, barrier)
                if following <= current + 1e-12 * abs(current):
                    break
                length /= 2
            else:
                break
            weights, current = weights + length * step, following
            if limits.exhausted:
                return weights
            if decrement < 0.1 * barrier * count:
                break
        if barrier * count <= 1.01 * accuracy:
            return weights
        barrier = max(barrier / 10, accuracy / count)


def _newton_step(hessian: Floats, gradient: Floats, columns: Floats, missing: Floats) -> Floats:
    """The Newton step within columns·step = missing, by the Schur complement of the Hessian."""
    solved = np.linalg.solve(hessian, np.concatenate([gradient[:, None], columns.T], axis=1))
    towards, across = solved[:, 0], solved[:, 1:]
    multipliers = np.linalg.lstsq(columns @ across, -missing - columns @ towards, rcond=None)[0]
    step: Floats = -towards - across @ multipliers
    return step


def _objective(columns: Floats, weights: Floats, barrier: float) -> float:
    if (weights <= 0).any():
        return np.inf
    try:
        return float(np.trace(np.linalg.inv((columns * weights) @ columns.T)) - barrier * np.log(weights).sum())
    except np.linalg.LinAlgError:
        return np.inf


def _interior(columns: Floats, limits: Limits) -> Floats:
    """Positive weights with columns·ρ = 1: the largest least weight, by a linear program."""
    from leakwise.lp import solve_lp

    size, count = columns.shape
    # max s  s.t.  columns·(s + r) = 1, r ≥ 0
    matrix = np.concatenate([columns.sum(axis=1)[:, None], columns], axis=1)
    costs = np.concatenate([[1.0], np.zeros(count)])
    solution = solve_lp(costs, matrix, np.ones(size), np.ones(size), maximize=True, time_limit=limits.remaining)
    if not solution.optimal:
        raise limits.over()
    interior: Floats = solution.x[0] + solution.x[1:]
    return np.maximum(interior, 1e-12)


def _fewest(columns: Floats, weights: Floats, limits: Limits) -> tuple[Floats, Floats]:
    """At most N(N+1)/2 columns with the same J: a vertex of the weights that give it (which fixes Σρλ = Jπ, too)."""
    from leakwise.lp import solve_lp

    size, count = columns.shape
    pairs = np.triu_indices(size)
    if count <= len(pairs[0]) or limits.exhausted:
        return columns, weights
    products = columns[pairs[0]] * columns[pairs[1]]
    goal = products @ weights
    generator = np.random.default_rng(size)  # any objective has a vertex; a random one has a single one
    seconds = limits.part(1.0, _TIDYING).seconds
    solution = solve_lp(generator.uniform(1, 2, count), products, goal, goal, time_limit=seconds)
    if not solution.optimal:
        return columns, weights  # to the accuracy of floats there may be none; and some more outcomes do no harm
    used = solution.x > 1e-9
    return columns[:, used], solution.x[used]


def _corrected(columns: Floats, weights: Floats) -> Floats:
    """Weights that meet columns·ρ = 1 again, each changed in proportion to itself, so that none turns negative."""
    for _ in range(4):
        missing = 1 - columns @ weights
        multipliers = np.linalg.lstsq((columns * weights) @ columns.T, missing, rcond=None)[0]
        weights = weights * (1 + columns.T @ multipliers)
    return np.maximum(weights, 0.0)


def _climb(cone: Cone, centre: Floats, y: Floats, generator: np.random.Generator, number: int) -> tuple[Floats, float]:
    """Local maxima of λᵀGλ - y·λ over the vertices, from many starts at once; the best of them."""
    lifts = cone.linear_max(generator.standard_normal((len(y), 4 * number)))[1]
    for _ in range(40):
        following = cone.linear_max(2 * centre @ lifts - y[:, None])[1]
        if np.allclose(following, lifts, atol=1e-12):
            break
        lifts = following
    lifts = _distinct(lifts)
    costs = np.einsum("ij,ij->j", lifts, centre @ lifts) - y @ lifts
    return lifts[:, np.argsort(-costs)[:number]], float(costs.max())
