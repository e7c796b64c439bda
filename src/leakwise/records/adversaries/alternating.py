"""Algorithms 1–5 of [PR], on the full table of datasets: a local search, kept beside the certified value.

As printed, except for four corrections: the step (15) is p ∝ p_t^{1/(1+s)} exp((D_a + s H_a)/(1+s)) with s found by a
root search (the printed update of s stops at infeasible points); the gradient (37) is p(a) Σ_y q(y|x) log(p(y|a)/p(y));
the sum in (18) leaves out ℓ = k; every loop is capped.
"""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.exact import last_that_holds
from leakwise.records.results import Adversary, RecordLeakage
from leakwise.types import Floats

__all__ = ["MOST_FULL", "Full", "alternating_leakage", "entropy_projection", "maximal_leakage", "simplex_projection"]

MOST_FULL = 1 << 13
_MOST_TUPLES = 100_000
_OUTER, _INNER, _ROUNDS = 100, 20, 60


@dataclass(frozen=True, eq=False)
class Full:
    """A mechanism on every dataset: ``q`` is |X|×M in C order, ``shape`` the numbers of values."""

    q: Floats
    shape: tuple[int, ...]

    def around(self, p: Floats, record: int) -> tuple[Floats, Floats]:
        """Return p as A×T and q as A×T×M, from the side of one record."""
        size = self.shape[record]
        pi = np.moveaxis(p.reshape(self.shape), record, 0).reshape(size, -1)
        qi = np.moveaxis(self.q.reshape(*self.shape, -1), record, 0).reshape(size, pi.shape[1], -1)
        return pi, qi

    def back(self, pi: Floats, record: int) -> Floats:
        """Return the inverse of :meth:`around` for p."""
        rest = tuple(k for i, k in enumerate(self.shape) if i != record)
        return np.moveaxis(pi.reshape(self.shape[record], *rest), 0, record).reshape(-1)


def _entropy(p: Floats, axis: int = -1) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(-np.where(p > 0, p * np.log(p), 0.0).sum(axis=axis))


def record_information(pi: Floats, qi: Floats) -> float:
    """Return I(X_i; Y) for p as A×T and q as A×T×M."""
    joint = np.matmul(pi[:, None, :], qi)[:, 0]
    return _information(joint)


def _information(joint: Floats) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        # Logarithms one by one: the product of a belief near 1e-300 and its outcome would be 0, and the ratio infinite.
        ratio = np.log(joint) - np.log(joint.sum(axis=1, keepdims=True)) - np.log(joint.sum(axis=0, keepdims=True))
        return float(np.where(joint > 0, joint * ratio, 0.0).sum())


def conditional_gradient(marginal: Floats, conditional: Floats, qi: Floats, a: int) -> Floats:
    """Return ∂I/∂p(x_-i | a) = p(a) Σ_y q(y|x) log(p(y|a)/p(y)): (37) without its first and last terms, which are no
    part of it.
    """
    channel = np.matmul(conditional[:, None, :], qi)[:, 0]
    output = marginal @ channel
    log_ratio = np.log(np.maximum(channel[a], 1e-300) / np.maximum(output, 1e-300))
    return np.asarray(marginal[a] * (qi[a] @ log_ratio))


def simplex_projection(v: Floats) -> Floats:
    """Algorithm 4: the nearest law."""
    u = np.sort(v)[::-1]
    theta = (np.cumsum(u) - 1) / np.arange(1, len(u) + 1)
    k = int(np.flatnonzero(u > theta)[-1])
    return np.asarray(np.maximum(v - theta[k], 0.0))


def entropy_projection(v: Floats, target: float) -> Floats:
    """Algorithm 5: softmax_β(v) with H = target. No projection, and tied entries stay tied: their entropy is then
    larger.
    """
    from scipy.optimize import brentq

    if abs(float(_entropy(v)) - target) < 1e-9:
        return v

    def softmax(beta: float) -> Floats:
        e = np.exp(beta * (v - v.max()))
        return np.asarray(e / e.sum())

    def miss(beta: float) -> float:
        return float(_entropy(softmax(beta))) - target

    if miss(0.0) <= 0:
        return softmax(0.0)
    high = 1e6
    if miss(high) >= 0:
        return softmax(high)
    return softmax(brentq(miss, 0.0, high, xtol=1e-12))


def marginal_update(marginal: Floats, conditional: Floats, qi: Floats, b: float, accuracy: float) -> Floats:
    """Algorithm 2: Blahut-Arimoto on p(x_i) under H(X) ≥ b."""
    channel = np.matmul(conditional[:, None, :], qi)[:, 0]
    own = _entropy(conditional)
    p = marginal
    value = -math.inf
    for _ in range(_ROUNDS):
        output = p @ channel
        with np.errstate(divide="ignore", invalid="ignore"):
            d = np.where(channel > 0, channel * np.log(channel / output), 0.0).sum(axis=1)
        logs = np.log(np.maximum(p, 1e-300))

        def step(s: float, logs: Floats = logs, d: Floats = d) -> Floats:
            z = (logs + d + s * own) / (1 + s)
            e = np.exp(z - z.max())
            return np.asarray(e / e.sum())

        def short(x: Floats) -> bool:
            return float(_entropy(x) + x @ own) < b

        new = step(0.0)
        if short(new):
            high = 1.0
            while short(step(high)) and high < 1e8:
                high *= 4
            if short(step(high)):
                break  # even the most uncertain marginal is short: keep the last feasible one
            new = step(last_that_holds(lambda s: not short(step(s)), high, 0.0, 60))
        reached = _information(new[:, None] * channel)
        p, gain, value = new, reached - value, reached
        if abs(gain) < accuracy:
            break
    return p


def _best_unit(marginal: Floats, conditional: Floats, qi: Floats, a: int) -> Floats:
    """The unit vector for row a with the largest I."""
    channel = np.matmul(conditional[:, None, :], qi)[:, 0]
    values = []
    kinds, first = np.unique(qi[a], axis=0, return_index=True)
    for row in kinds:
        trial = channel.copy()
        trial[a] = row
        values.append(_information(marginal[:, None] * trial))
    unit = np.zeros(conditional.shape[1])
    unit[int(first[int(np.argmax(values))])] = 1.0
    return unit


def conditional_update(marginal: Floats, conditional: Floats, qi: Floats, b: float, accuracy: float) -> Floats:
    """Algorithm 3: projected gradient ascent, row by row, on p(x_-i | x_i)."""
    c = conditional.copy()
    own = float(_entropy(marginal))
    best, best_value = c.copy(), -math.inf

    def value(rows: Floats) -> float:
        return record_information(marginal[:, None] * rows, qi)

    for _ in range(_OUTER):
        before = value(c)
        for a in range(len(marginal)):
            if marginal[a] <= 1e-15:
                c[a] = _best_unit(marginal, c, qi, a)
                continue
            others = sum(marginal[k] * float(_entropy(c[k])) for k in range(len(marginal)) if k != a)
            target = (b - own - others) / marginal[a]
            if target <= 0:
                c[a] = _best_unit(marginal, c, qi, a)
                continue
            eta, current = 1.0, value(c)
            for _ in range(_INNER):
                trial = c.copy()
                moved = simplex_projection(c[a] + eta * conditional_gradient(marginal, c, qi, a))
                trial[a] = entropy_projection(moved, min(target, math.log(c.shape[1])))
                if value(trial) >= current:
                    c = trial
                    break
                eta *= 0.5
        now = value(c)
        if now > best_value:
            best, best_value = c.copy(), now
        if abs(now - before) <= accuracy:
            break
    return best


def _deterministic(marginal: Floats, qi: Floats) -> Floats:
    """Algorithm 1, line 15: the best dataset of the others for each value (equal output laws tried once)."""
    kinds = [np.unique(rows, axis=0, return_index=True) for rows in qi]
    conditional = np.zeros(qi.shape[:2])
    if math.prod(len(k[0]) for k in kinds) > _MOST_TUPLES:
        conditional[:, 0] = 1.0
        for _ in range(4):
            for a in range(len(qi)):
                conditional[a] = _best_unit(marginal, conditional, qi, a)
        return conditional
    best, chosen = -math.inf, tuple(0 for _ in kinds)
    for places in itertools.product(*(range(len(k[0])) for k in kinds)):
        channel = np.array([k[0][j] for k, j in zip(kinds, places, strict=True)])
        reached = _information(marginal[:, None] * channel)
        if reached > best:
            best, chosen = reached, places
    for a, (k, j) in enumerate(zip(kinds, chosen, strict=True)):
        conditional[a, int(k[1][j])] = 1.0
    return conditional


def _random_belief(size: int, b: float, rng: np.random.Generator) -> Floats:
    p = rng.dirichlet(np.ones(size))
    if _entropy(p) < b:
        share = last_that_holds(lambda x: _entropy((1 - x) * p + x / size) >= b, 1.0, 0.0, 60)
        p = (1 - share) * p + share / size
    return np.asarray(p)


def maximal_leakage(
    full: Full,
    b: float,
    rng: np.random.Generator,
    *,
    accuracy: float = 1e-7,
    deadline: float = math.inf,
    start: Floats | None = None,
) -> tuple[float, Floats, int]:
    """Algorithm 1 from one random start: the value, the belief over datasets, and the record."""
    p = _random_belief(len(full.q), b, rng) if start is None else start
    best, belief, record = -math.inf, p, 0
    for _ in range(_ROUNDS):
        before = best
        for i in range(len(full.shape)):
            pi, qi = full.around(p, i)
            marginal = pi.sum(axis=1)
            conditional = np.where(marginal[:, None] > 0, pi / np.maximum(marginal[:, None], 1e-300), 1 / pi.shape[1])
            marginal = marginal_update(marginal, conditional, qi, b, accuracy)
            if b > _entropy(marginal):
                conditional = conditional_update(marginal, conditional, qi, b, accuracy)
            else:
                conditional = _deterministic(marginal, qi)
            candidate = marginal[:, None] * conditional
            # Softmax at a target leaves a hair of entropy missing: such a candidate is no adversary.
            if float(_entropy(candidate.reshape(-1))) < b - 1e-9:
                continue
            reached = record_information(candidate, qi)
            if reached > best:
                best, belief, record = reached, full.back(candidate, i), i
        p = belief
        if best - before < accuracy or time.monotonic() > deadline:
            break
    return best, belief, record


def full_mechanism(channel: Any) -> Full:
    """Return the table of a channel, if it is small enough."""
    if channel.query.datasets > MOST_FULL:
        raise InvalidInput(
            f"method='alternating' works on the full table of {channel.query.datasets:.4g} datasets; it takes "
            f"at most {MOST_FULL:,}. "
            "Use method='global', which needs only the classes."
        )
    return Full(channel.by_dataset(), channel.query.shape)


def alternating_leakage(
    channel: Any, b: float, *, restarts: int, seed: int, tolerance: float, time_limit: float
) -> RecordLeakage:
    """Algorithm 1 with restarts: a value that is reached; the bound is only the trivial log min(|X_i|, |Y|)."""
    if isinstance(restarts, bool) or not isinstance(restarts, int) or restarts < 1:
        raise InvalidInput(f"restarts is {restarts!r}; expected a whole number of at least 1.")
    full = full_mechanism(channel)
    rng = np.random.default_rng(seed)
    deadline = time.monotonic() + time_limit
    best, belief, record, done = -math.inf, np.empty(0), 0, 0
    for _ in range(restarts):
        value, p, i = maximal_leakage(full, b, rng, accuracy=tolerance, deadline=deadline)
        done += 1
        if value > best:
            best, belief, record = value, p, i
        if time.monotonic() > deadline:
            break
    best = max(best, 0.0)
    pi, _ = full.around(belief, record)
    answers = np.moveaxis(channel.query.table().reshape(full.shape), record, 0).reshape(pi.shape)
    entries = tuple(
        (
            channel.query.alphabets[record][a],
            f"the answer is {channel.query.answers[k]}",
            int((answers[a] == k).sum()),
            float(pi[a][answers[a] == k].sum()),
        )
        for a in range(len(pi))
        for k in np.unique(answers[a])
    )
    trivial = math.log(min(max(full.shape), full.q.shape[1])) * (1 + 1e-15)
    adversary = Adversary(record, entries, float(_entropy(belief)))
    method = f"[PR] Algorithms 1–5, {done} of {restarts} restarts, seed {seed}: a local optimum"
    about = f"{channel.name} on {channel.query.name}"
    return RecordLeakage(best, trivial, b, record, (record,), adversary, method, False, 0, about)
