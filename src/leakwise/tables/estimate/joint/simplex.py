"""The most likely joint table: maximum likelihood on the simplex without the product of the mechanisms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leakwise.tables.estimate.joint.axes import along
from leakwise.tables.estimate.mixture import Mixture, room
from leakwise.types import Floats

__all__ = ["most_likely_table", "table_gap"]

_STEPS = 120
_ENOUGH = 1e-12
_FEW = 64  # cells up to which the system of a step is written out and solved at once


def table_gap(weights: Floats, laws: Sequence[Floats], table: Floats) -> float:
    r"""Return an upper bound on how much log-likelihood per row another table could gain.

    :math:`L(p) = \sum_j w_j \log q_j` with q the table seen through the mechanisms is concave, so no p gains more than
    the largest entry of its gradient minus 1 (the condition of Kiefer and Wolfowitz).
    """
    q = along(table, laws)
    seen = weights > 0
    if not (q[seen] > 0).all():
        return float("inf")
    ratio = np.where(seen, weights / np.where(seen, q, 1.0), 0.0)
    return max(float(along(ratio, [law.T for law in laws]).max()) - 1.0, 0.0)


def most_likely_table(weights: Floats, laws: Sequence[Floats], start: Floats) -> Mixture:
    r"""Maximise :math:`\sum_j w_j \log q_j`, q = p seen through the mechanisms, over tables p ≥ 0 that add up to one.

    A primal-dual interior point method as for one column, whose Newton steps are solved by conjugate gradients: each
    multiplication goes along the axes (for a few cells the small system is written out). The gap that is returned is
    proven at the answer, however it was found.

    Parameters
    ----------
    weights
        The observed shares of the outcomes, sum 1.
    laws
        One matrix for each axis.
    start
        Any estimate of the table, such as the linear one.
    """
    solver = _Interior(weights, laws)
    p = np.maximum(start, 0.0) + 0.1 * np.maximum(np.abs(start).max(), 1.0 / start.size)
    p /= p.sum()
    for _ in range(20):  # EM: far from the optimum nothing is cheaper
        p = p * solver.gradient(p)
    p = 0.9 * p + 0.1 / p.size
    s = np.maximum(1.0 - solver.gradient(p), 0.1)
    best = p / p.sum()
    best_gap = table_gap(weights, laws, best)
    step, taken = 0.0, 0
    while taken < _STEPS and best_gap > _ENOUGH and float((p * s).sum()) > _ENOUGH:
        taken += 1
        shrink = 0.02 if step > 0.9 else 0.2
        moved = solver.step(p, s, shrink * float((p * s).sum()) / p.size)
        if moved is None:
            break
        p, s, step = moved
        gap = table_gap(weights, laws, p / p.sum())
        if gap < best_gap:
            best, best_gap = p / p.sum(), gap
    return Mixture(best, best_gap, taken)


class _Interior:
    """Newton steps towards slack(p) = s and p·s = target."""

    def __init__(self, weights: Floats, laws: Sequence[Floats]) -> None:
        self.weights, self.laws = weights, list(laws)
        self.back = [np.ascontiguousarray(law.T) for law in laws]
        self.squares = [back**2 for back in self.back]
        self.seen = weights > 0

    def _ratio(self, q: Floats, power: int) -> Floats:
        return np.where(self.seen, self.weights / np.where(self.seen, q, 1.0) ** power, 0.0)

    def gradient(self, p: Floats) -> Floats:
        return along(self._ratio(along(p, self.laws), 1), self.back)

    def step(self, p: Floats, s: Floats, target: float) -> tuple[Floats, Floats, float] | None:
        from scipy.sparse.linalg import LinearOperator, cg

        q = along(p, self.laws)
        slack = 1.0 - along(self._ratio(q, 1), self.back)
        curve = self._ratio(q, 2)
        # Scaled by √p on both sides the system stays well conditioned as cells leave.
        root = np.sqrt(p)

        def system(flat: Floats) -> Floats:
            v = flat.reshape(p.shape)
            return np.asarray(root * along(curve * along(root * v, self.laws), self.back) + s * v).reshape(-1)

        right = root * (target / p - slack)
        size = p.size
        if size <= _FEW:
            units = np.eye(size).reshape(size, *p.shape) * root
            images = root * along(curve * along(units, self.laws), self.back)
            found = np.linalg.solve(images.reshape(size, size) + np.diag(s.reshape(-1)), right.reshape(-1))
        else:
            diagonal = p * along(curve, self.squares) + s
            operator = LinearOperator((size, size), matvec=system, dtype=np.float64)
            jacobi = LinearOperator((size, size), matvec=lambda v: v / diagonal.reshape(-1), dtype=np.float64)
            found, _ = cg(operator, right.reshape(-1), rtol=1e-7, maxiter=4 * size + 200, M=jacobi)
        dp = root * found.reshape(p.shape)
        ds = (target - s * dp) / p - s
        if not (np.isfinite(dp).all() and np.isfinite(ds).all()):
            return None
        length = min(1.0, 0.99 * room(p, dp), 0.99 * room(s, ds))
        missing = np.hypot(np.linalg.norm(slack - s), np.linalg.norm(p * s - target))
        while length > 1e-10:
            p_new, s_new = p + length * dp, s + length * ds
            left = np.hypot(np.linalg.norm(1.0 - self.gradient(p_new) - s_new), np.linalg.norm(p_new * s_new - target))
            if left <= (1 - 0.01 * length) * missing + 1e-15:
                return p_new, s_new, length
            length /= 2
        return None
