r"""A third upper bound, for any number of values: divergences from one centre, so that the values come apart.

For every law r of the answer, I(a; Y) ≤ Σ_a P(a) D(P_{Y|a} ‖ r), and with a multiplier λ for the entropy

.. math:: I ≤ λ \log \sum_a e^{G_a/λ} - λ b, \qquad
          G_a = \max_v \bigl[D(P_v ‖ r) + λ (H(v) + v·\log m)\bigr]

over beliefs v about the others, given the value a. The search for G_a knows no posteriors: it is one search for each
value, not one for all of them together. What is lost is I(V; Y | a) for an adversary who decides on v by chance:
nothing where the best v of each value is the only one.

(r, λ) minimises the bound for the beliefs that are known to be good (:class:`Atoms`); G_a is then bounded by
``laws.py``, and beliefs that are found to be better are entered.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from leakwise.records.bounds.coarse import views
from leakwise.records.bounds.laws import LawSearch
from leakwise.records.bounds.tangent import worth_of
from leakwise.records.queries.problem import EPS, Problem
from leakwise.types import Floats

__all__ = ["centre_bound"]

_SMOOTHING = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
_STEPS, _HALVINGS = 30, 20
_STARTS, _CLIMB, _ROUNDS = 30, 200, 30
_LOW, _HIGH = 1e-9, 1e6  # of λ
_CLOSE, _KEPT = 0.05, 40  # beliefs that reach nearly as much as the best are kept
_SHARE = 0.7  # of the time, where the bound cannot close


@dataclass(eq=False)
class Atoms:
    """Beliefs about the others given each value: laws P_v (J×M), and H(v) + v·log m (J)."""

    laws: list[Floats]
    entropies: list[Floats]

    @classmethod
    def of(cls, problem: Problem, beliefs: list[Floats]) -> Atoms:
        """Describe beliefs (J×K for each value)."""
        laws, entropies = [], []
        for block, v in zip(problem.blocks, beliefs, strict=True):
            laws.append(v @ problem.rows[block])
            logs = np.log(np.where(v > 0, v, 1.0))
            entropies.append((v * (problem.log_sizes[block] - logs)).sum(axis=1))
        return cls(laws, entropies)

    def smooth(self, x: Floats, b: float, smoothing: float) -> tuple[float, Floats, Floats]:
        """Return the bound of these alone at log r = x[:-1] less a constant and λ = x[-1], its gradient and Hessian."""
        lam, count = float(x[-1]), len(x)
        top = x[:-1].max()
        r = np.exp(x[:-1] - top)
        logs = x[:-1] - top - math.log(r.sum())
        r = r / r.sum()
        spread = np.zeros((count, count))
        spread[:-1, :-1] = np.diag(r) - np.outer(r, r)
        best, slopes, hessian = [], [], spread
        seconds = []
        for laws, entropies in zip(self.laws, self.entropies, strict=True):
            own = (laws * np.log(np.where(laws > 0, laws, 1.0))).sum(axis=1)
            each = own - laws @ logs + lam * entropies
            high = each.max()
            w = np.exp((each - high) / smoothing)
            total = w.sum()
            w /= total
            slope = np.concatenate([r - laws, entropies[:, None]], axis=1)
            mean = w @ slope
            best.append(high + smoothing * math.log(total))
            slopes.append(mean)
            seconds.append(((slope - mean) * w[:, None]).T @ (slope - mean) / smoothing)
        g, slope = np.array(best), np.array(slopes)
        z = np.exp((g - g.max()) / lam)
        p = z / z.sum()
        value = g.max() + lam * math.log(z.sum()) - lam * b
        gradient = p @ slope
        gradient[-1] += -(p * np.log(np.maximum(p, 1e-300))).sum() - b
        slope[:, -1] -= g / lam
        centred = slope - p @ slope
        hessian = hessian + np.einsum("a,aij->ij", p, np.array(seconds)) + (centred * p[:, None]).T @ centred / lam
        return float(value), gradient, hessian

    def minimised(self, x: Floats, b: float) -> Floats:
        """Newton's method, less and less smooth."""
        for smoothing in _SMOOTHING:
            value, gradient, hessian = self.smooth(x, b, smoothing)
            for _ in range(_STEPS):
                ridge = max(1e-12 * float(np.trace(hessian)), 1e-200)
                step = -np.linalg.solve(hessian + ridge * np.eye(len(x)), gradient)
                fall = -float(gradient @ step)
                if fall <= 0.1 * smoothing:
                    break
                length = min(1.0, 5 / max(float(np.abs(step[:-1]).max()), 1.0))
                length = min(length, (0.9 if step[-1] < 0 else 4.0) * x[-1] / max(abs(step[-1]), _LOW))
                if not _LOW < x[-1] + length * step[-1] < _HIGH:
                    break
                for _ in range(_HALVINGS):
                    there = self.smooth(x + length * step, b, smoothing)
                    if there[0] <= value - 0.1 * length * fall:
                        break
                    length *= 0.4
                else:
                    break
                x = x + length * step
                value, gradient, hessian = there
        return x


def _climbed(rows: Floats, sizes: Floats, centre: Floats, lam: float, v: Floats) -> tuple[Floats, Floats]:
    """Improve beliefs (J×K) towards G_a by linearising the divergence; return them and what they reach."""
    for _ in range(_CLIMB):
        laws = np.maximum(v @ rows, 1e-290)
        exponent = np.log(laws / centre) @ rows.T / lam + sizes
        new = np.exp(exponent - exponent.max(axis=1, keepdims=True))
        new /= new.sum(axis=1, keepdims=True)
        moved, v = float(np.abs(new - v).max()), new
        if moved < 1e-9:
            break
    laws = np.maximum(v @ rows, 1e-290)
    logs = np.log(np.where(v > 0, v, 1.0))
    return v, (laws * np.log(laws / centre)).sum(axis=1) + lam * (v * (sizes - logs)).sum(axis=1)


def _good(v: Floats, reached: Floats) -> Floats:
    """Return the best beliefs, those that differ."""
    kept: list[int] = []
    for j in np.argsort(-reached):
        if reached[j] < reached.max() - _CLOSE or len(kept) == _KEPT:
            break
        if all(np.abs(v[j] - v[i]).max() > 1e-5 for i in kept):
            kept.append(int(j))
    return v[kept]


def _normalised(r: Floats) -> Floats:
    r = np.maximum(r / r.sum(), 1e-200)
    return np.asarray(r / r.sum())


def _total(g: Floats, lam: float, b: float) -> float:
    top = float(g.max())
    return top + lam * math.log(float(np.exp((g - top) / lam).sum())) - lam * b


def centre_bound(
    problem: Problem,
    b: float,
    belief: Floats,
    value: float,
    tolerance: float,
    deadline: float,
    ceiling: float = math.inf,
) -> tuple[float, int]:
    """Return an upper bound on max I, and how many boxes were open on the way.

    ``value`` is known to be reached, by ``belief``, and ``ceiling`` is proven.
    """
    rng, outputs = np.random.default_rng(0), problem.rows.shape[1]
    starts, beliefs, even = [], [], []
    for block in problem.blocks:
        count = block.stop - block.start
        starts.append(np.concatenate([0.9 * np.eye(count) + 0.1 / count, rng.dirichlet(np.full(count, 0.5), _STARTS)]))
        sizes = np.exp(problem.log_sizes[None, block] - problem.log_sizes[block].max())
        even.append(sizes / sizes.sum())
        own = belief[block] + 1e-12 * even[-1][0]
        beliefs.append(np.concatenate([own[None] / own.sum(), even[-1]]))
    x = np.append(np.log(_normalised(belief @ problem.rows + 1e-9 / outputs)), max(worth_of(problem, belief), 1e-4))
    best, boxes, started = ceiling, 0, time.monotonic()
    while time.monotonic() < deadline:
        for _ in range(_ROUNDS):
            atoms = Atoms.of(problem, beliefs)
            x = atoms.minimised(x, b)
            centre, lam = _normalised(np.exp(x[:-1] - x[:-1].max())), float(x[-1])
            known, _, _ = atoms.smooth(x, b, 1e-9)
            tops = np.zeros(problem.letters)
            for k, block in enumerate(problem.blocks):
                v = np.concatenate([beliefs[k], starts[k]])
                v, reached = _climbed(problem.rows[block], problem.log_sizes[block], centre, lam, v)
                tops[k] = reached.max()
                old = np.full(len(beliefs[k]), tops[k])
                good = _good(np.concatenate([beliefs[k], v]), np.concatenate([old, reached]))
                beliefs[k] = np.concatenate([good, even[k]])  # without which λ might be worth any number
            lost = _total(tops, lam, b) - value  # at least that much, however well the laws are searched
            if lost + value <= known + 0.1 * tolerance:
                break
        if value + lost >= best:
            break
        share = max(0.9 * (tolerance - lost), 0.1 * lost, 1e-9)
        search = LawSearch(problem, views(problem, lam)[-1], centre, lam, tops, share)
        end = deadline if lost <= tolerance else started + _SHARE * (deadline - started)
        search.run(end)
        boxes += search.count
        total = _total(search.bounds, lam, b)
        size = 2 + float(np.abs(search.bounds).max()) + lam * (abs(b) + 2)
        best = min(best, total + EPS * (16 + outputs) * size)
        if not search.better or best <= value + tolerance:
            break
        starts = [np.concatenate(pair) for pair in zip(starts, search.found, strict=True)]
    return best, boxes
