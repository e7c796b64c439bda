"""The convex master: the best mechanism against a growing list of adversaries, by an interior-point method."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from leakwise.records.adversaries.beliefs import log_ratios
from leakwise.types import Floats

__all__ = ["Master"]

_MOST_STEPS, _HALVINGS = 80, 40
_BACK = 0.1  # how far a search starts from the last mechanism, which is too close to the limits, towards the first
_EVEN, _KEPT = 0.05, 0.1  # how alike the products of a limit and its multiplier stay, and what a step leaves of a limit
_INSIDE = 1e-9  # how far inside the simplex gradients are taken for a bound, where all of them are finite


class Master:
    r"""min t (least leakage) or min E d (least distortion) over q with I_j(q) ≤ t or I_j(q) ≤ L for adversaries j.

    I_j is convex and homogeneous in q, so that its gradient G anywhere gives I_j ≥ G·q for all q. Bounds are made of
    the gradients at the mechanism found and the multipliers alone: any non-negative ones give a valid bound, and those
    of the optimum the optimum itself.
    """

    def __init__(self, costs: Floats, *, distortion: float | None = None, leakage: float | None = None) -> None:
        self.costs, self.distortion, self.leakage = costs, distortion, leakage
        dear = costs - costs.min(axis=1, keepdims=True)
        least, even = float(costs.min(axis=1).sum()), np.full_like(costs, 1 / costs.shape[1])
        cheapest = (dear <= 0) / (dear <= 0).sum(axis=1, keepdims=True)
        self.free = np.ones(costs.shape, dtype=bool)
        self.price = 0.0
        if distortion is None:
            self.first = even
        elif distortion <= least + 1e-12:  # what costs least is all that is left, and D is no limit to it
            self.free = dear <= 0
            self.first = cheapest
            self.price = 100 / float(dear[~self.free].min(initial=1.0))
        else:
            share = 0.5 * min(1.0, (distortion - least) / max(float((even * dear).sum()), 1e-300))
            self.first = (1 - share) * cheapest + share * even
        self.q = self.first
        self.adversaries: list[Floats] = []

    def add(self, weights: Floats) -> None:
        """One more adversary: P(X_i = a, state s), A×S."""
        self.adversaries.append(weights)

    def solve(self, accuracy: float, deadline: float) -> tuple[Floats, float]:
        """Return the mechanism that is best against the adversaries, and a proven lower bound on the optimum."""
        letters = max(map(len, self.adversaries))
        weights = np.array([np.pad(w, ((0, letters - len(w)), (0, 0))) for w in self.adversaries])
        program = _Program(self, weights)
        point = program.start((1 - _BACK) * self.q + _BACK * self.first)
        bound = 0.0
        for _ in range(_MOST_STEPS):
            self.q = point.q / point.q.sum(axis=1, keepdims=True)
            bound = max(bound, self._bound(weights, point.dual))
            if program.value(point) - bound <= accuracy or time.monotonic() > deadline:
                break
            moved = program.step(point)
            if moved is None:
                break
            point = moved
        return self.q, bound

    def _bound(self, weights: Floats, dual: Floats) -> float:
        inside = (1 - _INSIDE) * self.q + _INSIDE / self.costs.shape[1]
        shares = dual[: len(weights)]
        cuts = np.tensordot(
            shares, weights.transpose(0, 2, 1) @ log_ratios(weights @ inside, weights.sum(axis=2)), axes=1
        )
        total = float(shares.sum())
        if self.leakage is not None:
            return max(0.0, float((self.costs + cuts).min(axis=1).sum()) - self.leakage * total - 1e-13)
        assert self.distortion is not None
        eta = self.price or float(dual[-1]) / total
        return max(0.0, float((cuts / total + eta * self.costs).min(axis=1).sum()) - eta * self.distortion - 1e-13)


@dataclass(frozen=True, eq=False)
class _Point:
    """A mechanism strictly within all limits, with what is left to each (``room``) and their multipliers."""

    q: Floats
    t: float
    joint: Floats
    room: Floats
    dual: Floats


class _Program:
    """A primal-dual interior-point method in the entries of q that are free, and t where that is what is sought."""

    def __init__(self, master: Master, weights: Floats) -> None:
        self.master, self.weights = master, weights
        self.own, self.every = weights.sum(axis=2), weights.sum(axis=1)
        self.costs, self.free = master.costs, master.free
        self.limit = None if master.price else master.distortion
        self.count = int(self.free.sum())
        size = self.count + (master.leakage is None)
        self.place = np.cumsum(self.free.reshape(-1)).reshape(self.free.shape) - 1
        self.equal = np.zeros((len(self.free), size))
        self.equal[np.nonzero(self.free)[0], np.arange(self.count)] = 1.0
        self.objective = np.zeros(size)
        if master.leakage is None:
            self.objective[-1] = 1.0
        else:
            self.objective[:] = self.costs[self.free]

    def start(self, q: Floats) -> _Point:
        """Return a point at a mechanism, or on the way from it to the first one, which is within all limits."""
        joint = self.weights @ q
        most = float((joint * log_ratios(joint, self.own)).sum(axis=(1, 2)).max())
        t = self.master.leakage
        if t is None:
            t = 1.1 * most + 0.01
        elif most > 0.9 * t:  # a share of q, and the rest whatever the data, leaks as much less at most
            q = self.master.first + 0.9 * t / most * (q - self.master.first)
        point = self._point(q, t)
        assert point is not None
        return replace(point, dual=0.1 / len(point.room) / point.room)

    def value(self, x: _Point) -> float:
        """Return what is minimised."""
        return x.t if self.master.leakage is None else float((self.costs * x.q).sum())

    def _point(self, q: Floats, t: float) -> _Point | None:
        """Return a point without multipliers; None where it is not strictly within the limits."""
        if not (q[self.free] > 0).all():
            return None
        joint = self.weights @ q
        rest = [] if self.limit is None else [self.limit - float((self.costs * q).sum())]
        room = np.concatenate([t - (joint * log_ratios(joint, self.own)).sum(axis=(1, 2)), q[self.free], rest])
        return _Point(q, t, joint, room, room) if (room > 0).all() else None

    def step(self, x: _Point) -> _Point | None:
        """One Newton step for multipliers μ/room, down in value - μ Σ log room; None where it leads nowhere."""
        even = x.dual * x.room
        mu = (0.1 if even.min() > _EVEN * even.mean() else 0.8) * float(even.mean())
        jacobian = self._jacobian(x)
        hessian = self._curvature(x) + (jacobian * (x.dual / x.room)[:, None]).T @ jacobian
        hessian[np.diag_indices_from(hessian)] *= 1 + 1e-14
        slope = self.objective + (mu / x.room) @ jacobian
        states, size = self.equal.shape
        matrix = np.block([[hessian, self.equal.T], [self.equal, np.zeros((states, states))]])
        move = np.linalg.solve(matrix, np.concatenate([-slope, np.zeros(states)]))[:size]
        change = (mu + x.dual * (jacobian @ move)) / x.room - x.dual
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = min(1.0, 0.99 * float(np.where(change < 0, -x.dual / change, np.inf).min()))
        dq = np.zeros_like(x.q)
        dq[self.free] = move[: self.count]
        dt, fall = float(move[self.count :].sum()), float(slope @ move)
        merit = self.value(x) - mu * float(np.log(x.room).sum())
        length = 1.0
        for _ in range(_HALVINGS):
            there = self._point(x.q + length * dq, x.t + length * dt)
            if there is not None and (there.room > _KEPT * x.room).all():
                down = self.value(there) - mu * float(np.log(there.room).sum()) - merit
                if down <= 1e-4 * length * fall + 1e-15:
                    near = mu / there.room
                    return replace(there, dual=np.clip(x.dual + reach * change, 1e-8 * near, 1e8 * near))
            length *= 0.5
        return None

    def _jacobian(self, x: _Point) -> Floats:
        """The gradients of the limits: how fast the room falls."""
        jacobian = np.zeros((len(x.room), len(self.objective)))
        leaks = len(self.weights)
        gradients = self.weights.transpose(0, 2, 1) @ log_ratios(x.joint, self.own)
        jacobian[:leaks, : self.count] = gradients[:, self.free]
        jacobian[:leaks, self.count :] = -1.0
        jacobian[leaks : leaks + self.count, : self.count] = -np.eye(self.count)
        if self.limit is not None:
            jacobian[-1, : self.count] = self.costs[self.free]
        return jacobian

    def _curvature(self, x: _Point) -> Floats:
        """Σ_j λ_j ∇²I_j: for each outcome the sum of w_as w_as'/P(a, y), less w_s w_s'/P(y)."""
        result = np.zeros((len(self.objective), len(self.objective)))
        dual = x.dual[: len(self.weights)]
        for y in np.flatnonzero(self.free.any(axis=0)).tolist():
            here = np.flatnonzero(self.free[:, y])
            joint = np.maximum(x.joint[:, :, y], 1e-290)
            inner = self.weights[:, :, here] * np.sqrt(dual[:, None] / joint)[:, :, None]
            outer = self.every[:, here] * np.sqrt(dual / joint.sum(axis=1))[:, None]
            inner = inner.reshape(-1, len(here))
            places = self.place[here, y]
            result[np.ix_(places, places)] = inner.T @ inner - outer.T @ outer
        return result
