"""Good adversaries, quickly: linearise the convex part at the last belief, solve the rest exactly, and repeat."""

from __future__ import annotations

import itertools
import math

import numpy as np

from leakwise.exact import last_that_holds
from leakwise.records.queries.problem import Problem, entropy_of, information, joint_law
from leakwise.types import Bools, Floats

__all__ = ["climb", "feasible", "starting_beliefs", "tilted", "vertex_bound"]

_FEASIBLE = 2e-14
_MOST_TUPLES, _REFINED = 40_000, 2_000
_LOG_LOW, _LOG_HIGH = math.log(1e-9), math.log(1e8)


def feasible(problem: Problem, u: Floats, b: float) -> Floats:
    """Return the beliefs, mixed with the uniform one by as little as the entropy asks for.

    The entropy is concave along the way, and the uniform belief has the largest: bisection keeps the feasible end.
    """
    u = np.maximum(u, 0.0)
    u = u / u.sum(axis=1, keepdims=True)
    target = b + _FEASIBLE * (1 + abs(b))
    bad = entropy_of(u, problem.log_sizes) < target
    if not bad.any():
        return u
    v = u[bad]

    def enough(share: Floats) -> Bools:
        long: Bools = entropy_of(v + share[:, None] * (problem.uniform - v), problem.log_sizes) >= target
        return long

    share = last_that_holds(enough, np.ones(len(v)), np.zeros(len(v)), 60)
    u = u.copy()
    u[bad] = v + share[:, None] * (problem.uniform - v)
    return u


def tilted(problem: Problem, slope: Floats, scale: Floats) -> tuple[Floats, Floats, Floats]:
    """The maximiser of H(a) + slope·u + λ (H(u) + u·log m) over all beliefs, for a batch.

    Also its entropy H(u) + u·log m, and how fast that grows with log λ.
    """
    lam = scale[:, None]
    exponent = slope / lam + problem.log_sizes
    r = np.empty_like(exponent)
    z, mean, spread = (np.empty((len(r), problem.letters)) for _ in range(3))
    for a, block in enumerate(problem.blocks):
        part = exponent[:, block]
        top = part.max(axis=1, keepdims=True)
        e = np.exp(part - top)
        s = e.sum(axis=1, keepdims=True)
        r[:, block] = e / s
        z[:, a] = (lam * (top + np.log(s)))[:, 0]
        w = slope[:, block]
        mean[:, a] = (r[:, block] * w).sum(axis=1)
        spread[:, a] = (r[:, block] * (w - mean[:, a : a + 1]) ** 2).sum(axis=1)
    inner = z / (1 + lam)
    p = np.exp(inner - inner.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    own = (z - mean) / lam  # H(r_a) + E log m
    logs = np.log(np.maximum(p, 1e-300))
    entropy = (p * (own - logs)).sum(axis=1)
    feature = own - inner
    centred = feature - (p * feature).sum(axis=1, keepdims=True)
    growth = (p * spread).sum(axis=1) / scale**2 + scale / (1 + scale) * (p * centred**2).sum(axis=1)
    return np.asarray(r * p[:, problem.letter]), np.asarray(entropy), np.asarray(growth)


def _step(problem: Problem, u: Floats, b: float, guess: Floats) -> tuple[Floats, Floats]:
    """Maximise H(a) + (linearised -H(a|Y))·u under the entropy constraint.

    Newton's method on log λ finds the least λ with enough entropy.
    """
    joint = joint_law(problem, u)
    posterior = np.log(np.maximum(joint, 1e-300) / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300))
    slope = np.concatenate([posterior[:, a] @ problem.rows[k].T for a, k in enumerate(problem.blocks)], axis=1)
    low, high = np.full(len(u), _LOG_LOW), np.full(len(u), _LOG_HIGH)
    x = np.clip(guess, low, high)
    best = np.empty_like(u)
    todo = np.arange(len(u))
    for k in range(60):
        belief, entropy, growth = tilted(problem, slope[todo], np.exp(x[todo]))
        best[todo] = belief
        miss = entropy - b
        enough = miss >= 0
        high[todo] = np.where(enough, x[todo], high[todo])
        low[todo] = np.where(enough, low[todo], x[todo])
        with np.errstate(divide="ignore", invalid="ignore"):
            new = x[todo] - (miss - 1e-13) / growth
        inside = (new > low[todo]) & (new < high[todo])
        x[todo] = np.where(inside, new, 0.5 * (low[todo] + high[todo]))
        if k == 3:
            x[todo] = np.where(high[todo] - low[todo] > 5, 0.5 * (low[todo] + high[todo]), x[todo])
        left = ~(enough & (miss < 1e-11)) & (high[todo] - low[todo] > 1e-12)
        todo = todo[left]
        if not todo.size:
            break
    return feasible(problem, best, b), x


def climb(problem: Problem, u: Floats, b: float, steps: int = 60, accuracy: float = 1e-12) -> tuple[Floats, Floats]:
    """Improve every belief of a batch until a round adds less than ``accuracy``; I never falls."""
    u = feasible(problem, u, b)
    value = information(problem, u)
    busy = np.arange(len(u))
    scale = np.full(len(u), -1.0)
    for _ in range(steps):
        new, scale[busy] = _step(problem, u[busy], b, scale[busy])
        reached = information(problem, new)
        better = reached > value[busy]
        gained = reached - value[busy]
        u[busy[better]], value[busy[better]] = new[better], reached[better]
        busy = busy[gained > accuracy]
        if not busy.size:
            break
    return u, value


def _capacity(rows: Floats, steps: int) -> tuple[Floats, Floats, Floats]:
    """Capacity of a batch of channels B×A×M from both sides, with the input laws of the lower one.

    Two inputs: bisection on D(row_0 ‖ r) = D(row_1 ‖ r). More: Blahut-Arimoto. The upper side is max_a D(row_a ‖ r),
    which holds for every output law r.
    """
    count, letters, _ = rows.shape
    with np.errstate(divide="ignore", invalid="ignore"):
        own = np.where(rows > 0, rows * np.log(rows), 0.0).sum(axis=2)

    def divergences(p: Floats) -> Floats:
        r = np.matmul(p[:, None, :], rows)[:, 0]
        return np.asarray(own - (rows * np.log(np.maximum(r, 1e-300))[:, None, :]).sum(axis=2))

    p = np.full((count, letters), 1.0 / letters)
    if letters == 2 and steps:

        def pair(x: Floats) -> Floats:
            return np.stack([1 - x, x], axis=1)

        def less(x: Floats) -> Bools:
            d = divergences(pair(x))
            return np.asarray(d[:, 1] > d[:, 0])

        p = pair(last_that_holds(less, np.zeros(count), np.ones(count), 54))
    else:
        for _ in range(steps):
            d = divergences(p)
            p = p * np.exp(2.0 * (d - d.max(axis=1, keepdims=True)))
            p /= p.sum(axis=1, keepdims=True)
    d = divergences(p)
    return np.asarray((p * d).sum(axis=1)), np.asarray(d.max(axis=1)), p


def vertex_bound(problem: Problem) -> tuple[float, Floats]:
    """Return an upper bound that holds for every b, and the beliefs near it.

    Without the entropy constraint the best adversary knows the class of the others for each value (I is convex in
    p(others | a), [PR] Theorem 1), so that L(0) is the largest capacity of a channel with one row for each value.
    """
    choices = [np.arange(block.start, block.stop) for block in problem.blocks]
    every = math.prod(len(c) for c in choices) <= _MOST_TUPLES
    if not every:
        # Too many to try: the largest classes, which an uncertain adversary uses; they bound nothing then.
        each = max(1, int(_MOST_TUPLES ** (1 / problem.letters)))
        choices = [c[np.argsort(-problem.log_sizes[c], kind="stable")[:each]] for c in choices]
    tuples = np.array(list(itertools.product(*choices)))
    # First one look at each with equally likely values, then the capacity of those that could be the largest.
    rough = max(1, 2_000_000 // (problem.rows.shape[1] * problem.letters))
    upper = np.concatenate([_capacity(problem.rows[tuples[k : k + rough]], 0)[1] for k in range(0, len(tuples), rough)])
    first = np.argsort(-upper, kind="stable")[:_REFINED]
    least = float(_capacity(problem.rows[tuples[first]], 300)[0].max())
    could = np.flatnonzero(upper > least - 1e-12)
    refined = could[np.argsort(-upper[could], kind="stable")[:_REFINED]]
    left = np.setdiff1d(could, refined)
    value, bound, p = _capacity(problem.rows[tuples[refined]], 600)
    top = max(float(bound.max()), float(upper[left].max(initial=0.0)), least)
    tuples = tuples[refined]
    # Of equally good ones first those of more entropy.
    entropy = (p * problem.log_sizes[tuples]).sum(axis=1)
    order = np.lexsort((-entropy, -np.round(value, 9)))[:64]
    beliefs = np.zeros((len(order), len(problem.letter)))
    np.put_along_axis(beliefs, tuples[order], p[order], axis=1)
    return (top * (1 + 1e-14) + 1e-14 if every else math.log(problem.letters)), beliefs


def starting_beliefs(problem: Problem, vertices: Floats, count: int, seed: int) -> Floats:
    """Beliefs to climb from: near the vertices, and random ones."""
    rng = np.random.default_rng(seed)
    random = rng.dirichlet(np.full(len(problem.letter), 0.5), size=count)
    near = 0.98 * vertices[:count] + 0.02 * problem.uniform
    return np.concatenate([near, random, 0.5 * random + 0.5 * problem.uniform])
