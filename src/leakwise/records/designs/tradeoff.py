"""The least leakage for a distortion, and the least distortion for a leakage ([PR] Problems 2 and 3).

For a fixed adversary I(X_i; Y) is convex in the mechanism, and a maximum of convex functions is convex: both problems
are convex, although the paper calls them non-convex. So a list of adversaries solves them: the best mechanism against
the list, worse adversaries for that mechanism, and so on. The list bounds from below, the certified leakage of the best
mechanism from above.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput, counted
from leakwise.records.adversaries.beliefs import reductions
from leakwise.records.adversaries.oracle import Oracle
from leakwise.records.designs.master import Master
from leakwise.records.designs.tradeoff_result import RecordDesign
from leakwise.records.measure import check_entropy
from leakwise.records.queries.channel import Channel
from leakwise.records.queries.query import Query
from leakwise.records.results import Curve
from leakwise.types import Floats

__all__ = ["least_distortion", "least_distortion_curve", "least_leakage", "least_leakage_curve"]


class _Problem:
    """What both questions share: the space of classes, the costs, the simplest mechanisms."""

    def __init__(self, query: Query, entropy: float, data: Any, metric: Any, outputs: Iterable[Any] | None) -> None:
        self.query = query
        self.b = check_entropy(entropy, query.max_entropy)
        self.outputs = tuple(query.answers if outputs is None else outputs)
        self.space = query.orbit_space(data)
        d = query.distortion_matrix(self.outputs, metric)
        self.costs = self.space.mass[:, None] * d[self.space.answer]
        self.least = float(self.costs.min(axis=1).sum())
        totals = self.costs.sum(axis=0)
        self.constant = np.zeros_like(self.costs)
        self.constant[:, int(np.argmin(totals))] = 1.0
        self.largest = float(totals.min())
        self.truthful = np.zeros_like(self.costs)
        self.truthful[np.arange(len(self.costs)), np.argmin(d[self.space.answer], axis=1)] = 1.0

    def cost(self, q: Floats) -> float:
        return float((self.costs * q).sum())

    def channel(self, q: Floats, name: str) -> Channel:
        return Channel(self.query, self.space, q, self.outputs, name, by="class")


def least_leakage(
    query: Query,
    distortion: float,
    entropy: float = 0.0,
    *,
    data: Any = "uniform",
    metric: Any = "absolute",
    outputs: Iterable[Any] | None = None,
    method: str = "global",
    tolerance: float = 1e-6,
    time_limit: float = 60.0,
    restarts: int = 3,
    seed: int = 0,
) -> RecordDesign:
    r"""Return the mechanism that leaks least about any record while E d(f(X), Y) ≤ D ([PR] Definition 2.2).

    Parameters
    ----------
    query
        What is asked.
    distortion
        D, from the least possible (0, the truth) to that of the best constant answer (beyond which nothing leaks
        anyway).
    entropy
        b: adversaries have H(X) ≥ b nats.
    data
        p0: ``"uniform"``, a law for each record, or probabilities of all datasets.
    metric
        d: ``"absolute"``, ``"hamming"``, a function of answer and output, or a matrix.
    method
        ``"global"``: a growing list of adversaries, both sides proven. ``"alternating"``: Algorithms 6–8 of the paper.

    Examples
    --------
    >>> from leakwise.records import parity
    >>> d = least_leakage(parity(3), distortion=0.3, entropy=0.0)
    >>> print(f"{d.value:.4f}")
    0.0823
    """
    problem = _Problem(query, entropy, data, metric, outputs)
    level = _number("distortion", distortion)
    if level < problem.least - 1e-12:
        raise InvalidInput(
            f"distortion is {level}; the least possible with these outputs is {problem.least:.6g}. Give at least that."
        )
    if level > problem.largest + 1e-12:
        raise InvalidInput(
            f"distortion is {level}; a constant answer has {problem.largest:.6g} and leaks nothing, so more is "
            "of no use. "
            "Give at most that."
        )
    if method == "alternating":
        from leakwise.records.designs.alternating_design import alternating_least_leakage

        return alternating_least_leakage(
            problem.channel(problem.truthful, "start"), level, problem.b, data, metric, restarts, seed, time_limit
        )
    _check_method(method)
    return _run(problem, tolerance, time_limit, seed, distortion=level)


def least_distortion(
    query: Query,
    leakage: float,
    entropy: float = 0.0,
    *,
    data: Any = "uniform",
    metric: Any = "absolute",
    outputs: Iterable[Any] | None = None,
    method: str = "global",
    tolerance: float = 1e-6,
    time_limit: float = 60.0,
    restarts: int = 3,
    seed: int = 0,
) -> RecordDesign:
    r"""Return the mechanism of least distortion among those that leak at most L about any record ([PR] Definition 2.3).

    ``leakage`` is L in nats; the other parameters are those of :func:`least_leakage` (``"alternating"``: Algorithms
    9–11).

    Examples
    --------
    >>> from leakwise.records import parity
    >>> d = least_distortion(parity(3), leakage=0.1)
    >>> print(f"{d.value:.4f}")
    0.2802
    """
    problem = _Problem(query, entropy, data, metric, outputs)
    level = _number("leakage", leakage)
    if level < 0:
        raise InvalidInput(f"leakage is {level}; expected at least 0 nats.")
    if method == "alternating":
        from leakwise.records.designs.alternating_design import alternating_least_distortion

        return alternating_least_distortion(
            problem.channel(problem.truthful, "start"), level, problem.b, data, metric, restarts, seed, time_limit
        )
    _check_method(method)
    return _run(problem, tolerance, time_limit, seed, leakage=level)


def _number(name: str, value: Any) -> float:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | np.floating | np.integer)
        or not np.isfinite(value)
    ):
        raise InvalidInput(f"{name} is {value!r}; expected a number.")
    return float(value)


def _check_method(method: str) -> None:
    if method != "global":
        raise InvalidInput(f"method is {method!r}; expected 'global' or 'alternating'.")


def _run(
    problem: _Problem,
    tolerance: float,
    time_limit: float,
    seed: int,
    distortion: float | None = None,
    leakage: float | None = None,
) -> RecordDesign:
    """A list of adversaries for either question.

    With D given, the value of a mechanism of distortion ≤ D is its leakage. With L given, a mechanism that leaks I >
    L is mixed with the best constant answer until it leaks at most L (convexity: a share L/I of it leaks at most L);
    its value is the distortion then.
    """
    silent = _silent(problem, distortion, leakage)
    if silent is not None:
        return silent
    deadline = time.monotonic() + time_limit
    oracle = Oracle(problem.space, problem.b, seed)
    master = Master(problem.costs, distortion=distortion, leakage=leakage)

    def value_of(q: Floats, leaks: float) -> float:
        if leakage is None:
            return leaks
        share = 1.0 if leaks <= leakage else leakage / leaks
        return share * problem.cost(q) + (1 - share) * problem.largest

    q = best = _first(problem, distortion)
    best_leaks = best_value = bound_leaks = np.inf
    lower, rounds = 0.0, 0
    while True:
        rounds += 1
        found = oracle.local(q)
        value = value_of(q, found[0][0])
        if value < best_value:
            best, best_leaks, best_value = q, found[0][0], value
        late = time.monotonic() > deadline
        if late or best_value - lower <= 0.5 * tolerance:
            limit = deadline if not late else time.monotonic() + max(1.0, 0.2 * time_limit)
            # An error in the leakage costs (largest - distortion)/L times as much distortion.
            dear = 1.0 if leakage is None else max(1.0, (problem.largest - problem.cost(best)) / max(leakage, 1e-9))
            least, bound_leaks, worst, proven = oracle.certified(best, 0.25 * tolerance / dear, limit)
            if late or least <= best_leaks + 0.1 * tolerance / dear:
                closed = proven and value_of(best, bound_leaks) - lower <= tolerance
                break
            # Climbing had missed this adversary: it joins the list and the search goes on.
            best_leaks, best_value = least, value_of(best, least)
            found = [(least, worst)]
        least_of_all = lower if leakage is None else leakage
        for k, (leaks, belief) in enumerate(found):
            if leaks > least_of_all or not k:
                master.add(belief.state_weights(problem.space))
        q, reached = master.solve(0.1 * max(tolerance, min(1.0, best_value - lower)), deadline)
        lower = max(lower, reached)
    if leakage is not None and bound_leaks > leakage:
        share = leakage / bound_leaks
        best = share * best + (1 - share) * problem.constant
        bound_leaks = min(bound_leaks, leakage)
    value = bound_leaks if leakage is None else problem.cost(best)
    return RecordDesign(
        value=value,
        bound=min(lower, value),
        channel=problem.channel(best, "least leakage" if leakage is None else "least distortion"),
        leakage=bound_leaks,
        distortion=problem.cost(best),
        entropy=problem.b,
        method=f"{counted(rounds, 'round')} against {counted(len(master.adversaries), 'adversary', 'adversaries')}",
        closed=closed,
        question=f"D = {distortion:g}" if distortion is not None else f"L = {leakage:g}",
        goal="leakage" if leakage is None else "distortion",
    )


def _silent(problem: _Problem, distortion: float | None, leakage: float | None) -> RecordDesign | None:
    """The cases in which nothing leaks: there I behaves like a square root, and the search would crawl."""
    if distortion is not None and distortion >= problem.largest - 1e-12:
        q, why = problem.constant, "a constant answer is within D"
    elif leakage == 0 and problem.b < problem.query.max_entropy * (1 - 1e-12):
        # Beliefs near the uniform one are allowed, so that no two datasets may have different output laws.
        q, why = problem.constant, "no leakage at all means a constant answer"
    elif leakage == 0:
        q, why = _independent(problem), "linear program: Y independent of every record"
    else:
        return None
    value = 0.0 if leakage is None else problem.cost(q)
    return RecordDesign(
        value=value,
        bound=value if leakage is None else max(0.0, value - 1e-9),
        channel=problem.channel(q, "least leakage" if leakage is None else "least distortion"),
        leakage=0.0,
        distortion=problem.cost(q),
        entropy=problem.b,
        method=why,
        closed=True,
        question=f"D = {distortion:g}" if distortion is not None else f"L = {leakage:g}",
        goal="leakage" if leakage is None else "distortion",
    )


def _independent(problem: _Problem) -> Floats:
    """Against an adversary who knows nothing: the least distortion with the same p(y | a) for every value."""
    from leakwise.lp import solve_lp

    states, outputs = problem.costs.shape
    rows, right = [], []
    for s in range(states):
        row = np.zeros((states, outputs))
        row[s] = 1.0
        rows.append(row)
        right.append(1.0)
    for reduction in reductions(problem.space, np.eye(states)):
        weights = reduction.spread(reduction.problem.uniform).state_weights(problem.space)
        weights = weights / weights.sum(axis=1, keepdims=True)
        for a in range(1, len(weights)):
            for y in range(outputs):
                row = np.zeros((states, outputs))
                row[:, y] = weights[a] - weights[0]
                rows.append(row)
                right.append(0.0)
    solution = solve_lp(
        problem.costs.reshape(-1), np.array(rows).reshape(len(rows), -1), np.array(right), np.array(right)
    )
    q = np.maximum(solution.x.reshape(states, outputs), 0.0)
    return np.asarray(q / q.sum(axis=1, keepdims=True))


def _first(problem: _Problem, distortion: float | None) -> Floats:
    """The truth mixed with a uniform output as far as D allows; half and half when D is not the limit."""
    noise = np.full_like(problem.costs, 1 / problem.costs.shape[1])
    if distortion is None:
        return 0.5 * problem.truthful + 0.5 * noise
    top = problem.cost(noise)
    other = noise if top > distortion or top >= problem.largest else problem.constant
    top = problem.cost(other)
    share = 1.0 if top <= distortion else (distortion - problem.least) / (top - problem.least)
    return (1 - share) * problem.truthful + share * other


def least_leakage_curve(
    query: Query, distortions: Iterable[float] | int = 11, entropy: float = 0.0, **options: Any
) -> Curve:
    """Return ε(D, b) over a grid of D (a number of points up to the largest useful distortion, or the points)."""
    problem = _Problem(
        query, entropy, options.get("data", "uniform"), options.get("metric", "absolute"), options.get("outputs")
    )
    if isinstance(distortions, int):
        grid = np.linspace(problem.least, problem.largest, distortions)
    else:
        grid = np.sort(np.array(list(distortions), dtype=np.float64))
    results = [least_leakage(query, float(d), entropy, **options) for d in grid]
    return _curve(
        grid, results, f"Least leakage for {query.name}, H(X) ≥ {entropy:g}", "distortion D", "leakage (nats)"
    )


def least_distortion_curve(
    query: Query, leakages: Iterable[float] | int = 11, entropy: float = 0.0, **options: Any
) -> Curve:
    """Return 𝓓(L, b) over a grid of L (a number of points from 0 to the leakage of the truth, or the points)."""
    if isinstance(leakages, int):
        problem = _Problem(
            query, entropy, options.get("data", "uniform"), options.get("metric", "absolute"), options.get("outputs")
        )
        top = Oracle(problem.space, problem.b, 0).local(problem.truthful)[0][0]
        grid = np.linspace(0.0, top, leakages)
    else:
        grid = np.sort(np.array(list(leakages), dtype=np.float64))
    results = [least_distortion(query, float(x), entropy, **options) for x in grid]
    return _curve(
        grid, results, f"Least distortion for {query.name}, H(X) ≥ {entropy:g}", "leakage L (nats)", "distortion"
    )


def _curve(grid: Floats, results: list[RecordDesign], title: str, x: str, y: str) -> Curve:
    value, bound = np.array([r.value for r in results]), np.array([r.bound for r in results])
    return Curve(grid, value, bound, tuple(results), title, x, y)
