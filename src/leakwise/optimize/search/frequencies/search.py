"""Which way a search for frequencies goes, and what it hands back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from leakwise.errors import InvalidInput, NotConverged
from leakwise.optimize.bounds.largest_variance import largest_variance_bound
from leakwise.optimize.bounds.least_trace import least_trace_bound
from leakwise.optimize.bounds.mixture import mixture_bound, ratio_of
from leakwise.optimize.pricing.set_vertices import MOST_LETTERS, ListedVertices, Vertices
from leakwise.optimize.problem.cones import Cone
from leakwise.optimize.search.frequencies.aim import TRACE, Aim
from leakwise.optimize.search.frequencies.exchange import exchanged
from leakwise.optimize.search.frequencies.growth import Grown, distinct, first_columns, grown, vertices_of
from leakwise.optimize.search.frequencies.limited import limited
from leakwise.optimize.search.frequencies.weights import adding_up, linearised, regular
from leakwise.optimize.search.limits import Found, Limits
from leakwise.types import Floats

__all__ = ["most_outcomes", "search_frequencies"]


_PER_LETTER = 8
_BYTES = 400e6  # of one array of lifts
_TIDYING = 5.0  # seconds for having fewer outcomes
_LEAST = 1.0  # and what so few letters get in any case
_INWARDS = 2.0**-30
_LIGHT = 1e-6
_CLOSE = 1e-12  # of 1, what weights may miss it by
_MISSED = 1e-9  # of the variance
_DUST = 1e-7
_EXACT, _LIMITED, _NEAR = 1e-8, 1e-5, 1e-4  # relative gaps to end at: the optimum; with too few outcomes; from a climb
_PRICING = 0.5  # seconds that are needed for pricing every vertex some times
_RELATED = 1e-9


def search_frequencies(cone: Cone, limits: Limits, every: Floats | None = None, aim: Aim = TRACE) -> Found:
    """Return the weights and columns of least variance, with a bound on all others; ``every`` vertex may be given."""
    try:
        return _search(cone, limits, every, aim)
    except np.linalg.LinAlgError as error:
        raise NotConverged(
            "the columns are so much alike that the information matrix is singular in doubles.",
            lower=-np.inf,
            upper=0.0,
        ) from error


def most_outcomes(size: int, asked: int | None) -> int:
    """Return how many outcomes a mechanism for so many letters may have: eight for each, if nothing else was asked."""
    if asked is not None and asked < size:
        raise InvalidInput(
            f"outcomes must be at least the number of values, {size:,}, or the frequencies cannot be told apart. "
            f"Got {asked:,}."
        )
    most = _PER_LETTER * size if asked is None else asked
    fitting = int(_BYTES / (8 * size))
    if fitting <= size:
        raise NotConverged(
            f"the columns of a mechanism for {size:,} values do not fit in memory.", lower=-np.inf, upper=0.0
        )
    return min(most, fitting)


def _search(cone: Cone, limits: Limits, every: Floats | None, aim: Aim) -> Found:
    size = len(cone.prior)
    most, freedom = most_outcomes(size, limits.outcomes), _freedom(size)
    if aim.contrasts is not None and limits.outcomes is None and size <= 2 * _PER_LETTER:
        most = max(most, freedom)
    few = every is not None or (freedom <= most and size <= 2 * _PER_LETTER)
    if few:
        generator = np.random.default_rng(size)  # not for privacy: the search is the same every time
        objectives = np.concatenate([np.eye(size), -np.eye(size), generator.standard_normal((size, 6 * size))], axis=1)
        start = distinct(cone.linear_max(objectives)[1])
        nothing = bool(np.linalg.matrix_rank(start) < size)
    else:
        nothing = bool((cone.entry_box()[1] <= 1 + 1e-12).all())
    if nothing:
        # Only where nothing but the constant column is allowed: then no mechanism tells the letters apart.
        return Found(np.ones((size, 1)), np.ones(1), np.empty(0), 0.0, "rank", proven=-np.inf)
    vertices: Vertices | None = None if every is None else ListedVertices(every)
    if vertices is None and (few or _priced(cone, limits, aim)):
        vertices = vertices_of(cone)
    # Where every vertex is known the search ends with a bound of its own.
    rough, part = few and vertices is not None and vertices.complete, limits.part(0.3)
    if aim.unseen:
        least, multipliers = 0.0, np.ones(size)  # every column is listed: the search has a bound of its own
    elif aim.contrasts is None:
        ratio = None if few else ratio_of(cone)
        mixed = (0.0, np.empty(0)) if ratio is None else mixture_bound(cone.prior.probabilities, ratio)
        least, multipliers = least_trace_bound(cone, part, rough=rough, known=mixed[0])
        least, multipliers = (least, multipliers) if least >= mixed[0] else mixed
    else:
        least, multipliers = largest_variance_bound(cone, aim.contrasts, part, aim.given, rough=rough)
    bound = aim.constant(cone.prior.probabilities) - least
    if few:
        assert vertices is not None
        first = first_columns(cone, start, vertices, multipliers[aim.leading : aim.leading + size], limits)
        best = _grown(cone, first, vertices, most, bound, multipliers, limits, aim)
        return _found(cone, best, multipliers)
    columns, weights, late = exchanged(cone, most, -least, limits, aim)
    used = weights > _DUST / len(weights)
    plain = Grown(columns[:, used], weights[used], bound, multipliers, None, late)
    if vertices is None:
        return _found(cone, plain, multipliers)
    try:
        best = _grown(cone, (columns, weights), vertices, most, bound, multipliers, limits, aim)
    except np.linalg.LinAlgError:
        return _found(cone, plain, multipliers)
    if linearised(best.columns, best.weights, aim).value < linearised(plain.columns, plain.weights, aim).value:
        best = replace(best, columns=plain.columns, weights=plain.weights)
    # Where columns were exchanged to the end, more time would not serve much.
    return _found(cone, replace(best, stopped=late), multipliers)


def _grown(
    cone: Cone,
    first: tuple[Floats, Floats],
    vertices: Vertices,
    most: int,
    bound: float,
    multipliers: Floats,
    limits: Limits,
    aim: Aim,
) -> Grown:
    """The optimum from some columns on, and no more of its columns than were asked for."""
    size = len(cone.prior)
    near = _NEAR if limits.rough or not vertices.complete else _EXACT if _freedom(size) <= most else _LIMITED
    best = grown(cone, first, vertices, bound, multipliers, limits, near, aim)
    columns, weights = _tidied(best.columns, best.weights, limits, aim)
    if columns.shape[1] > most:
        highest = best.bound - aim.constant(cone.prior.probabilities)
        columns, weights = limited(columns, weights, most, highest, 2 * near, vertices, limits, aim)
    return replace(best, columns=columns, weights=weights)


def _freedom(size: int) -> int:
    """How many columns an optimum has at most: one less than J has entries that may differ."""
    return size * (size + 1) // 2 - 1


def _priced(cone: Cone, limits: Limits, aim: Aim) -> bool:
    """Whether every vertex is to be priced though not all columns of an optimum can stay."""
    time = limits.remaining is None or limits.remaining > _PRICING
    known = len(cone.prior) <= MOST_LETTERS and cone.lift_range() is not None
    return known and time and not limits.rough and aim.contrasts is None


def _found(cone: Cone, best: Grown, multipliers: Floats) -> Found:
    # Dropping the dust of the barrier leaves the rows slightly off: put them right on the columns that stay.
    columns, weights = best.columns, adding_up(best.columns, best.weights)[0]

    def inner() -> tuple[Floats, Floats] | None:
        # Columns with two letters between are not vertices: a little of the constant column takes them inside.
        inside = cone.slightly_inside(columns)
        if inside is None:
            inside = 1 + (1 - _INWARDS) * (columns - 1)
        return inside, adding_up(inside, weights)[0]

    how = "trace" if best.root is None else "vertices"
    return Found(
        columns,
        weights,
        best.duals,
        0.0,
        how,
        stopped=best.stopped,
        inner=inner,
        proven=best.bound,
        root=best.root,
        multipliers=None if best.root is None else multipliers,
    )


def _tidied(columns: Floats, weights: Floats, limits: Limits, aim: Aim) -> tuple[Floats, Floats]:
    """The columns in use, as few as have the same J."""
    used = weights > _DUST / len(weights)
    columns, weights = _fewest(columns[:, used], weights[used], limits)
    heavy = weights > _DUST  # an outcome that comes once in a billion rows serves nobody
    columns, weights = columns[:, heavy], weights[heavy]
    # What a search that is near enough has not taken to zero yet: outcomes that nobody misses.
    heavy = weights > _LIGHT / len(weights)
    if not heavy.all() and regular(columns[:, heavy], weights[heavy]):
        fewer, miss = adding_up(columns[:, heavy], weights[heavy])
        before, after = (linearised(*one, aim).value for one in ((columns, weights), (columns[:, heavy], fewer)))
        if miss < _CLOSE and after >= before - _MISSED * abs(before):
            return columns[:, heavy], fewer
    return columns, weights


def _fewest(columns: Floats, weights: Floats, limits: Limits) -> tuple[Floats, Floats]:
    """As few columns as have the same J: a vertex of the weights that give it (which fixes Σρλ = Jπ, too).

    Carathéodory: N(N+1)/2 at most, and one less at the optimum, where λᵀGλ = y·λ is a relation among the entries.
    """
    from leakwise.lp import solve_lp

    size, count = columns.shape
    products = _products(columns)
    goal = products @ weights
    generator = np.random.default_rng(size)  # any objective has a vertex; a random one has a single one
    seconds = max(limits.part(1.0, _TIDYING).seconds or _TIDYING, _LEAST)  # no more outcomes than were asked for
    solution = solve_lp(generator.uniform(1, 2, count), products, goal, goal, time_limit=seconds)
    if solution.optimal:  # to the accuracy of floats there may be none
        used = solution.x > 1e-9
        columns, weights = columns[:, used], solution.x[used]
    return _without_relations(columns, weights)


def _without_relations(columns: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Shift weights along a relation among the λλᵀ until a column has none, as long as there is one."""
    while columns.shape[1] > 1:
        _, singular, vectors = np.linalg.svd(_products(columns))
        if len(singular) == columns.shape[1] and singular[-1] > _RELATED * singular[0]:
            break
        relation = vectors[-1] if vectors[-1].max() > -vectors[-1].min() else -vectors[-1]
        rising = relation > 0
        steps = weights[rising] / relation[rising]
        weights = weights - float(steps.min()) * relation
        used = weights > 0
        used[np.flatnonzero(rising)[steps.argmin()]] = False
        columns, weights = columns[:, used], weights[used]
    return columns, weights


def _products(columns: Floats) -> Floats:
    """The entries of (1, x)(1, x)ᵀ for each column, which have the relations of the λλᵀ.

    x is λ - 1 in units of the largest entry of each letter: lifts of a rare letter may be in the thousands, and those
    of a strict limit all near one.
    """
    apart = columns - 1
    widest = np.abs(apart).max(axis=1, keepdims=True)
    lines = np.concatenate([np.ones((1, columns.shape[1])), apart / np.where(widest > 0, widest, 1.0)])
    first, second = np.triu_indices(len(lines))
    products: Floats = lines[first] * lines[second]
    return products
