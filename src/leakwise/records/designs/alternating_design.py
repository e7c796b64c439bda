"""Algorithms 6–11 of [PR]: mechanisms by alternating between Algorithm 1 and a smooth penalty method.

As printed, made to end: loops are capped (λ freezes within ±0.01 in Algorithms 7 and 10); the Armijo test of
Algorithms 8 and 11 asks for half the decrease that the step promises, g·(q - q_new)/2, because the printed η‖g‖²/2
counts the part of g that leaves the simplex and is never met; the best mechanism is chosen inside the margin, because
the penalised objectives of different λ cannot be compared. The listing of Algorithm 9 is missing from the paper: it
alternates Algorithm 1 and Algorithm 10 until distortion and leakage settle. Nothing here is proven; the numbers stand
beside those of the global method.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from leakwise.records.adversaries.alternating import Full, full_mechanism, maximal_leakage, record_information
from leakwise.records.designs.tradeoff_result import RecordDesign
from leakwise.records.queries.channel import Channel, channel
from leakwise.records.queries.data import data_law
from leakwise.types import Floats

__all__ = ["alternating_least_distortion", "alternating_least_leakage"]

_OUTER, _PENALTY, _STEPS, _HALVINGS = 12, 40, 60, 25
_MARGIN, _FACTOR, _FLOOR = 0.01, 1.5, 1e-12


def _softplus(z: float) -> float:
    return float(np.logaddexp(0.0, z))


def _sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z)) if z > -700 else 0.0


class _Setting:
    """A belief p, the data law p0, and the costs; evaluates leakage and distortion of a full mechanism with their
    gradients.
    """

    def __init__(self, p: Floats, shape: tuple[int, ...], costs: Floats) -> None:
        self.p, self.shape, self.costs = p, shape, costs

    def leakages(self, q: Floats) -> list[float]:
        full = Full(q, self.shape)
        return [record_information(*full.around(self.p, i)) for i in range(len(self.shape))]

    def leakage_gradient(self, q: Floats, record: int) -> Floats:
        """Return (24): p(x) log(p(y | x_i) / p(y))."""
        full = Full(q, self.shape)
        pi, qi = full.around(self.p, record)
        joint = np.matmul(pi[:, None, :], qi)[:, 0]
        ratio = np.log(
            np.maximum(joint, 1e-300) / np.maximum(joint.sum(axis=1, keepdims=True) * joint.sum(axis=0), 1e-300)
        )
        places = np.unravel_index(np.arange(len(self.p)), self.shape)[record]
        return np.asarray(self.p[:, None] * ratio[places])

    def distortion(self, q: Floats) -> float:
        return float((self.costs * q).sum())


def _descend(
    q: Floats, value: Callable[[Floats], float], gradient: Callable[[Floats], Floats], accuracy: float
) -> Floats:
    """Algorithms 8 and 11: exponentiated gradient steps with backtracking."""
    size = len(q)
    for t in range(_STEPS):
        g = gradient(q)
        eta, now = size / math.sqrt(t + 1), value(q)
        for _ in range(_HALVINGS):
            # A probability that underflows to zero could never come back.
            new = np.maximum(q * np.exp(-eta * (g - g.min(axis=1, keepdims=True))), _FLOOR)
            new /= new.sum(axis=1, keepdims=True)
            if value(new) <= now + 0.5 * float((g * (new - q)).sum()):
                break
            eta *= 0.5
        else:
            return q
        moved = float(np.abs(new - q).sum())
        q = new
        if moved < accuracy:
            break
    return q


def _penalised(setting: _Setting, q: Floats, limit: float, primal: bool, accuracy: float) -> Floats:
    """Algorithm 7 (primal: leakage + λ·penalty on distortion) and Algorithm 10 (the other way round)."""
    weight, best, before = 1.0, q, math.inf
    best_value = (math.inf, math.inf)
    for _ in range(_PENALTY):
        record = int(np.argmax(setting.leakages(q)))

        def value(x: Floats, weight: float = weight) -> float:
            leaks, cost = max(setting.leakages(x)), setting.distortion(x)
            main, other = (leaks, cost) if primal else (cost, leaks)
            return main + weight * _softplus(other - limit) ** 2

        def gradient(x: Floats, weight: float = weight, record: int = record) -> Floats:
            leaks = setting.leakages(x)
            slope, costs = setting.leakage_gradient(x, record if primal else int(np.argmax(leaks))), setting.costs
            other = setting.distortion(x) if primal else max(leaks)
            factor = 2 * weight * _softplus(other - limit) * _sigmoid(other - limit)
            return slope + factor * costs if primal else costs + factor * slope

        q = _descend(q, value, gradient, accuracy)
        reached = setting.distortion(q) if primal else max(setting.leakages(q))
        # J of different λ cannot be compared, as the listing does: first inside the margin, then the smaller objective.
        score = (max(0.0, reached - limit - _MARGIN), max(setting.leakages(q)) if primal else setting.distortion(q))
        if score < best_value:
            best, best_value = q, score
        if reached > limit + _MARGIN:
            weight *= _FACTOR
        elif reached < limit - _MARGIN:
            weight /= _FACTOR
        if abs(reached - before) < accuracy and abs(reached - limit) < _MARGIN:
            break
        before = reached
    return best


def _alternate(
    start: Channel,
    limit: float,
    b: float,
    data: Any,
    metric: Any,
    restarts: int,
    seed: int,
    time_limit: float,
    primal: bool,
) -> RecordDesign:
    query, outputs = start.query, start.outputs
    truth = full_mechanism(start).q
    law = data_law(data, query.shape).table()
    costs = law[:, None] * query.distortion_matrix(outputs, metric)[query.table()]
    deadline = time.monotonic() + time_limit
    rng = np.random.default_rng(seed)
    best: tuple[float, float, float, Floats] | None = None
    for _ in range(restarts):
        noise = rng.dirichlet(np.ones(len(outputs)), size=len(truth))
        q = 0.7 * truth + 0.3 * noise
        value = math.inf
        leaks = cost = math.inf
        for _ in range(_OUTER):
            _, p, _ = maximal_leakage(Full(q, query.shape), b, rng, accuracy=1e-5, deadline=deadline)
            setting = _Setting(p, query.shape, costs)
            q = _penalised(setting, q, limit, primal, 1e-5)
            leaks, cost = max(setting.leakages(q)), setting.distortion(q)
            now = leaks if primal else cost
            settled = abs(now - value) < 1e-5
            value = now
            if settled or time.monotonic() > deadline:
                break
        excess = max(0.0, (cost if primal else leaks) - limit)
        if best is None or (excess > _MARGIN, value) < (best[0] > _MARGIN, best[1]):
            best = excess, value, leaks, q
        if time.monotonic() > deadline:
            break
    assert best is not None
    _, value, leaks, q = best
    return RecordDesign(
        value=value,
        bound=0.0,
        channel=channel(query, q, by="dataset", outputs=outputs),
        leakage=leaks,
        distortion=float((costs * q).sum()),
        entropy=b,
        method=(
            f"[PR] Algorithms {'6–8' if primal else '9–11'}, {restarts} restarts, seed {seed}: a stationary "
            "point, nothing proven"
        ),
        closed=False,
        question=f"D = {limit:g}" if primal else f"L = {limit:g}",
        goal="leakage" if primal else "distortion",
    )


def alternating_least_leakage(
    start: Channel, distortion: float, b: float, data: Any, metric: Any, restarts: int, seed: int, time_limit: float
) -> RecordDesign:
    """Algorithm 6. The leakage it reports is against the last adversary only."""
    return _alternate(start, distortion, b, data, metric, restarts, seed, time_limit, True)


def alternating_least_distortion(
    start: Channel, leakage: float, b: float, data: Any, metric: Any, restarts: int, seed: int, time_limit: float
) -> RecordDesign:
    """Algorithm 9. The leakage bound is held by a penalty, against the last adversary only."""
    return _alternate(start, leakage, b, data, metric, restarts, seed, time_limit, False)
