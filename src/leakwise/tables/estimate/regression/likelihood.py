r"""The likelihood of released rows under a regression of true values, with its exact derivatives.

Of a row with the released covariates' outcomes y, other covariates w and outcome z it is

.. math:: \sum_s P(y \mid s)\, p(s \mid w; \gamma) \sum_t P(z \mid t)\, p(t \mid s, w; \beta),

s the true covariates and t the true outcome, where a sum over what is not released has one term. p(s|w) is a
multinomial logit in what describes w: a column for each distinct w where these are few, otherwise the columns of w.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from leakwise.types import Floats, Indices

__all__ = ["Categories", "Derivatives", "Likelihood", "Outcome", "Poisson"]

_BLOCK = 1 << 15
# Keeps what describes unseen covariates finite where a value never occurs with a w.
_RIDGE = 1e-6


@dataclass
class Derivatives:
    """A log-likelihood, its gradient, minus its Hessian, and the information that complete data would have."""

    value: float
    score: Floats
    information: Floats
    complete: Floats


class Outcome(Protocol):
    """What is known of the outcome of a row, and what a linear predictor says about it."""

    @property
    def count(self) -> int:
        """How many linear predictors there are."""

    def terms(self, part: slice, eta: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return log-likelihoods, their gradients and minus their curvatures in the predictors, and the complete ones.

        ``eta`` is rows × count; curvatures are rows × count × count.
        """


@dataclass(frozen=True)
class Categories:
    """An outcome of several values, seen through a mechanism (or as it is): a multinomial logit, the first value 0.

    ``table`` has the probability of what a row shows for every value; ``pair`` says which row of it.
    """

    table: Floats
    pair: Indices

    @property
    def count(self) -> int:
        """All values but the first have a predictor."""
        return int(self.table.shape[1]) - 1

    def terms(self, part: slice, eta: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """See :class:`Outcome`."""
        seen = self.table[self.pair[part]]
        if self.count == 1:
            return self._two(seen, eta)
        full = np.concatenate((np.zeros((eta.shape[0], 1)), eta), axis=1)
        full -= full.max(axis=1, keepdims=True)
        weight = np.exp(full)
        p = weight / weight.sum(axis=1, keepdims=True)
        joint = seen * p
        total = joint.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            post = np.where(total[:, None] > 0, joint / total[:, None], p)
            value = np.log(total)
        p, post = p[:, 1:], post[:, 1:]
        own = _spread(p)
        return value, post - p, own - _spread(post), own

    def _two(self, seen: Floats, eta: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        e = eta[:, 0]
        small = np.exp(-np.abs(e))
        p = np.where(e >= 0, 1.0, small) / (1.0 + small)
        rest = np.where(e >= 0, small, 1.0) / (1.0 + small)
        one = seen[:, 1] * p
        total = one + seen[:, 0] * rest
        with np.errstate(divide="ignore", invalid="ignore"):
            post = np.where(total > 0, one / total, p)
            value = np.log(total)
        own = p * rest
        # 1 - post without cancellation, from the other half of the sum.
        with np.errstate(divide="ignore", invalid="ignore"):
            other = np.where(total > 0, seen[:, 0] * rest / total, rest)
        return value, (post - p)[:, None], (own - post * other)[:, None, None], own[:, None, None]


def _spread(p: Floats) -> Floats:
    if p.shape[1] == 1:
        return np.asarray((p * (1 - p))[:, :, None])
    return np.asarray(np.einsum("ri,ij->rij", p, np.eye(p.shape[1])) - p[:, :, None] * p[:, None, :])


@dataclass(frozen=True)
class Poisson:
    """A count as it is, with a logarithmic link."""

    counts: Floats
    constant: Floats  # -log z!

    @property
    def count(self) -> int:
        """One predictor."""
        return 1

    def terms(self, part: slice, eta: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """See :class:`Outcome`."""
        z, e = self.counts[part], eta[:, 0]
        mean = np.exp(np.minimum(e, 50.0))
        own = mean[:, None, None]
        return z * e - mean + self.constant[part], (z - mean)[:, None], own, own


@dataclass
class Likelihood:
    """The rows of a regression, for every combination of unseen covariates.

    Attributes
    ----------
    matrices
        The model matrix for each combination.
    outcome
        What is known of the outcome.
    weight
        The weight of every row.
    shown
        Tables of the probability of what rows show for every combination, and which row of the table each has; one pair
        for each released covariate.
    describes
        What describes w in the model of the unseen covariates, rows × v.
    """

    matrices: Sequence[Floats]
    outcome: Outcome
    weight: Floats
    shown: Sequence[tuple[Floats, Indices]] = ()
    describes: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def rows(self) -> int:
        """How many distinct rows there are."""
        return self.weight.size

    @property
    def sizes(self) -> tuple[int, int]:
        """How many coefficients the outcome and the unseen covariates have."""
        return self.matrices[0].shape[1] * self.outcome.count, self.describes.shape[1] * (len(self.matrices) - 1)

    def start(self) -> Floats:
        """Return coefficients to start from: all values equally likely."""
        return np.zeros(sum(self.sizes))

    def value(self, parameters: Floats) -> float:
        """Return the log-likelihood."""
        total = 0.0
        for part in self._parts():
            logs, *_ = self._block(part, parameters, derivatives=False)
            total += float(self.weight[part] @ logs)
        return total - self._penalty(parameters)

    def derivatives(self, parameters: Floats) -> Derivatives:
        """Return the log-likelihood with its exact derivatives."""
        size = sum(self.sizes)
        found = Derivatives(0.0, np.zeros(size), np.zeros((size, size)), np.zeros((size, size)))
        for part in self._parts():
            logs, scores, information, complete = self._block(part, parameters, derivatives=True)
            weight = self.weight[part]
            found.value += float(weight @ logs)
            found.score += weight @ scores
            found.information += information
            found.complete += complete
        extra = self.sizes[0]
        found.value -= self._penalty(parameters)
        found.score[extra:] -= _RIDGE * parameters[extra:]
        inner = np.arange(extra, size)
        found.information[inner, inner] += _RIDGE
        found.complete[inner, inner] += _RIDGE
        return found

    def scores(self, parameters: Floats) -> Floats:
        """Return the gradient of the log-likelihood of every row, rows × coefficients."""
        return np.concatenate([self._block(part, parameters, derivatives=True)[1] for part in self._parts()])

    def predictors(self, parameters: Floats) -> list[Floats]:
        """Return the linear predictors of the outcome for every combination."""
        beta = parameters[: self.sizes[0]].reshape(self.outcome.count, -1)
        return [matrix @ beta.T for matrix in self.matrices]

    def _penalty(self, parameters: Floats) -> float:
        return 0.5 * _RIDGE * float((parameters[self.sizes[0] :] ** 2).sum())

    def _parts(self) -> list[slice]:
        step = max(512, _BLOCK // len(self.matrices))
        return [slice(start, min(start + step, self.rows)) for start in range(0, self.rows, step)]

    def _block(self, part: slice, parameters: Floats, *, derivatives: bool) -> tuple[Floats, Floats, Floats, Floats]:
        """Log-likelihoods and gradients of some rows; sums of minus Hessians, and of what complete data would have."""
        size, weight = self.sizes[0], self.weight[part]
        beta = parameters[:size].reshape(self.outcome.count, -1)
        combos = len(self.matrices)
        found = [self.outcome.terms(part, matrix[part] @ beta.T) for matrix in self.matrices]
        if combos == 1:
            x = self.matrices[0][part]
            logs, slope, curve, own = found[0]
            if not derivatives:
                return logs, np.empty(0), np.empty(0), np.empty(0)
            return logs, _outer_rows(slope, x), _crossed(x, curve, weight), _crossed(x, own, weight)
        v = self.describes[part]
        gamma = parameters[size:].reshape(combos - 1, -1)
        # Combinations come first: sums over them then run along whole rows of memory.
        p = np.concatenate((np.zeros((1, v.shape[0])), gamma @ v.T))
        p -= p.max(axis=0)
        p -= np.log(np.exp(p).sum(axis=0))
        logs = p + np.stack([one[0] for one in found])
        for table, pair in self.shown:
            with np.errstate(divide="ignore"):
                logs += np.log(table.T)[:, pair[part]]
        top = logs.max(axis=0)
        safe = np.where(np.isfinite(top), top, 0.0)
        total = safe + np.log(np.exp(logs - safe).sum(axis=0))
        if not derivatives:
            return total, np.empty(0), np.empty(0), np.empty(0)
        share = np.exp(logs - total)  # the posterior of the unseen covariates
        return total, *self._mixed(part, found, share, np.exp(p)[1:].T, weight)

    def _mixed(
        self, part: slice, found: Sequence[tuple[Floats, ...]], share: Floats, p: Floats, weight: Floats
    ) -> tuple[Floats, Floats, Floats]:
        r"""The gradient Σ r g of a mixture, and minus its Hessian Σ r H - Σ r g gᵀ + ḡ ḡᵀ (Louis)."""
        size, extra = self.sizes
        v, combos = self.describes[part], len(self.matrices)
        information = np.zeros((size + extra, size + extra))
        complete = np.zeros_like(information)
        mean = np.zeros((v.shape[0], size + extra))
        for s, (matrix, (_, slope, curve, own)) in enumerate(zip(self.matrices, found, strict=True)):
            x, r = matrix[part], share[s]
            unit = np.zeros(combos - 1)
            if s:
                unit[s - 1] = 1.0
            g = np.concatenate((_outer_rows(slope, x), _outer_rows(unit - p, v)), axis=1)
            mean += r[:, None] * g
            information[:size, :size] += _crossed(x, curve, weight * r)
            complete[:size, :size] += _crossed(x, own, weight * r)
            information -= (g * (weight * r)[:, None]).T @ g
        inner = _crossed(v, _spread(p), weight)
        information[size:, size:] += inner
        complete[size:, size:] += inner
        information += (mean * weight[:, None]).T @ mean
        return mean, information, complete


def _outer_rows(slope: Floats, x: Floats) -> Floats:
    """For each row the product of every slope with every column of x, slopes first."""
    if slope.shape[1] == 1:
        return np.asarray(slope * x)
    return np.asarray((slope[:, :, None] * x[:, None, :]).reshape(x.shape[0], -1))


def _crossed(x: Floats, curve: Floats, weight: Floats) -> Floats:
    """Σ weight · curve ⊗ x xᵀ over rows."""
    count, size = curve.shape[1], x.shape[1]
    out = np.empty((count * size, count * size))
    for a in range(count):
        for b in range(a + 1):
            block = (x * (weight * curve[:, a, b])[:, None]).T @ x
            out[a * size : (a + 1) * size, b * size : (b + 1) * size] = block
            out[b * size : (b + 1) * size, a * size : (a + 1) * size] = block.T
    return out
