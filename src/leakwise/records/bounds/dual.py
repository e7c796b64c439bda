"""Upper bounds on boxes of posteriors: the Lagrangian dual of the chord relaxation, minimised for many at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from leakwise.records.queries.problem import EPS, Problem
from leakwise.types import Bools, Floats, Indices

__all__ = ["Boxes", "Mixture", "Relaxed", "relax"]

LAMBDA_LOW, LAMBDA_HIGH = 1e-11, 1e9
_MOST_STEPS = 40
_HALVINGS = 14


@dataclass(eq=False)
class Boxes:
    """Boxes of posteriors: low ≤ P(a | y) ≤ high, with the multipliers to start from.

    ``low`` and ``high`` are B×M×A; ``scale`` (B) is the multiplier λ of the entropy, ``push`` (B×2×M×J) those of the
    sides (first the lower, then the upper ones) for the J values of the record that are branched on; ``node`` (B) is
    the place in the tree of boxes.
    """

    low: Floats
    high: Floats
    scale: Floats
    push: Floats
    node: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    def __post_init__(self) -> None:
        if not len(self.node):
            self.node = np.zeros(len(self.low), dtype=np.intp)

    def __len__(self) -> int:
        return int(self.low.shape[0])

    def take(self, which: Indices | Bools) -> Boxes:
        """Return some of the boxes."""
        return Boxes(self.low[which], self.high[which], self.scale[which], self.push[which], self.node[which])

    @classmethod
    def joined(cls, parts: Sequence[Boxes]) -> Boxes:
        """Return several as one."""
        names = ("low", "high", "scale", "push", "node")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True, eq=False)
class Mixture:
    """Tangents in the bounds of boxes (:mod:`leakwise.records.bounds.coarse`).

    ``kept`` (B) is the share of the chords that is left, ``paid`` (B) is what the tangents cost per nat of entropy, and
    ``tangent`` (B×K) are their slopes less ``paid`` times log u'(k|a). ``size`` (B) is of the numbers they were made
    of, for what floating point may have lost.
    """

    kept: Floats
    paid: Floats
    tangent: Floats
    size: Floats

    def take(self, which: Indices) -> Mixture:
        """Return those of some of the boxes."""
        return Mixture(self.kept[which], self.paid[which], self.tangent[which], self.size[which])


@dataclass(eq=False)
class Relaxed:
    """What the relaxation says of each box: a proven upper bound, the belief behind it, and the multipliers."""

    bound: Floats
    belief: Floats
    boxes: Boxes


def branched_letters(problem: Problem) -> list[int]:
    """Return the values whose posterior is branched on: one of two, or all of three and more."""
    return [1] if problem.letters == 2 else list(range(problem.letters))


def _xlogx(t: Floats) -> Floats:
    return np.asarray(t * np.log(np.where(t > 0, t, 1.0)))


class _Dual:
    r"""The function to be minimised over λ > 0 and μ ≥ 0.

    On the box, -H(θ_y) is at most its chord, so that with P(a,y) linear in u

        I ≤ H(a) + c·u,   G u ≥ 0,   H(u) + u·log m ≥ b,

    and for every λ ≥ 0, μ ≥ 0 weak duality gives the bound

        g(λ, μ) = (1+λ) LSE_a( λ LSE_k∈a( (c + Gᵀμ)_k / λ + log m_k ) / (1+λ) ) - λ b.

    With tangents (:class:`Mixture`) only the share γ of H(a) + c·u is left, and t·u + π D(u(·|a) ‖ u'(·|a)) is added:
    I ≤ γ H(a) + (γc + t - π log u')·u - π H(k|a). The entropy pays for the last term. In terms of what is left of its
    multiplier, λ - π, the bound is the same with κ = γ + π for 1, γc + t - π log u' + π log m for c, and πb less.
    """

    def __init__(self, problem: Problem, boxes: Boxes, b: float, mixture: Mixture | None = None) -> None:
        self.problem, self.b = problem, b
        self.letters = branched_letters(problem)
        self.low, self.high = boxes.low, boxes.high
        at_low, at_high = _xlogx(boxes.low), _xlogx(boxes.high)
        width = boxes.high - boxes.low
        # A box of width zero has the tangent; any slope between the one-sided ones keeps the line above the point.
        slope = np.where(width > 0, (at_high - at_low) / np.where(width > 0, width, 1.0), 0.0)
        self.slope = slope
        self.constant = (at_low - slope * boxes.low).sum(axis=2)
        self.m = problem.log_sizes
        self.weight, self.paid, self.size = np.ones(len(boxes)), np.zeros(len(boxes)), np.zeros(len(boxes))
        self.fixed = np.zeros((len(boxes), len(self.m)))
        if mixture is not None:
            self.paid = mixture.paid
            self.weight = mixture.kept + self.paid
            self.size = mixture.size
            self.fixed = mixture.tangent + self.paid[:, None] * self.m
            self.slope = self.slope * mixture.kept[:, None, None]
            self.constant = self.constant * mixture.kept[:, None]

    def part(self, keep: Bools) -> _Dual:
        """Return the same for some of the boxes."""
        other = object.__new__(_Dual)
        other.problem, other.b, other.letters, other.m = self.problem, self.b, self.letters, self.m
        for name in ("low", "high", "slope", "constant", "weight", "paid", "size", "fixed"):
            setattr(other, name, getattr(self, name)[keep])
        return other

    def weights(self, push: Floats) -> Floats:
        """Return (c + Gᵀμ)_k, B×K."""
        under, over = push[:, 0], push[:, 1]  # B×M×J
        low, high = self.low[:, :, self.letters], self.high[:, :, self.letters]
        common = self.constant + (over * high - under * low).sum(axis=2)
        each = self.slope.copy()
        each[:, :, self.letters] += under - over
        each += common[:, :, None]
        rows = self.problem.rows
        chord = [each[:, :, a] @ rows[k].T for a, k in enumerate(self.problem.blocks)]
        return self.fixed + np.concatenate(chord, axis=1)

    def value(self, scale: Floats, push: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Return g, and the pieces of the maximiser: w, r(k|a), z_a, P(a)."""
        w = self.weights(push)
        lam = scale[:, None]
        exponent = w / lam + self.m
        r = np.empty_like(exponent)
        z = np.empty((w.shape[0], self.problem.letters))
        for a, block in enumerate(self.problem.blocks):
            part = exponent[:, block]
            top = part.max(axis=1, keepdims=True)
            e = np.exp(part - top)
            s = e.sum(axis=1, keepdims=True)
            r[:, block] = e / s
            z[:, a] = (lam * (top + np.log(s)))[:, 0]
        outer = self.weight + scale
        inner = z / outer[:, None]
        top = inner.max(axis=1, keepdims=True)
        e = np.exp(inner - top)
        s = e.sum(axis=1, keepdims=True)
        g = outer * (top + np.log(s))[:, 0] - (scale + self.paid) * self.b
        return g, w, r, z, e / s

    def slack(self, scale: Floats, push: Floats, w: Floats) -> Floats:
        """Return what floating point may have lost in g, counted generously."""
        size = np.abs(w).max(axis=1) + self.size + push.sum(axis=(1, 2, 3)) + 1 + scale
        size += (scale + 2 * self.paid) * (abs(self.b) + np.abs(self.m).max())
        return np.asarray(EPS * (8 * self.problem.rows.shape[1] + self.problem.rows.shape[0] + 16) * 0.5 * size)

    def at_zero(self, push: Floats) -> Floats:
        """Return g(0, μ): the entropy left out."""
        w = self.weights(push)
        best = np.stack([w[:, block].max(axis=1) for block in self.problem.blocks], axis=1) / self.weight[:, None]
        top = best.max(axis=1)
        return np.asarray(self.weight * (top + np.log(np.exp(best - top[:, None]).sum(axis=1))) - self.paid * self.b)


def relax(
    problem: Problem, boxes: Boxes, b: float, enough: float, accuracy: float, mixture: Mixture | None = None
) -> Relaxed:
    """Bound I on every box.

    An interior-point method on g over λ, μ ≥ 0; a box is left alone once its bound is below ``enough`` or can fall by
    no more than ``accuracy``. Whatever the steps do, every number handed back is g at some point, hence a bound.
    """
    count, outputs = len(boxes), problem.rows.shape[1]
    letters = branched_letters(problem)
    sides = outputs * len(letters)
    whole = _Dual(problem, boxes, b, mixture)
    shape = (2, outputs, len(letters))
    # A side at 0 or 1 binds nobody: its multiplier stays zero.
    real = np.ones((count, 1 + 2 * sides), dtype=bool)
    real[:, 1 : 1 + sides] = (boxes.low[:, :, letters] > 0).reshape(count, sides)
    real[:, 1 + sides :] = (boxes.high[:, :, letters] < 1).reshape(count, sides)
    scale, push = np.clip(boxes.scale - whole.paid, LAMBDA_LOW, LAMBDA_HIGH), boxes.push
    g, w, r, z, p = whole.value(scale, push)
    best, best_x, best_w = g.copy(), np.concatenate([scale[:, None], push.reshape(count, -1)], axis=1), w.copy()
    belief = r * p[:, problem.letter]
    busy = np.flatnonzero(best > enough)
    if np.isfinite(accuracy) and busy.size:
        x = np.where(real, np.maximum(best_x, 1e-3), 0.0)
        x[:, 0] = np.maximum(best_x[:, 0], 1e-7)
        slack = np.full_like(x, 1e-2)
        t = np.full(count, 1e-4)
        for step in range(_MOST_STEPS):
            dual = whole.part(np.isin(np.arange(count), busy))
            lam, mu = x[busy, 0], x[busy, 1:].reshape(-1, *shape)
            g, w, r, z, p = dual.value(lam, mu)
            lower = g < best[busy]
            best[busy[lower]], best_x[busy[lower]], best_w[busy[lower]] = g[lower], x[busy[lower]], w[lower]
            belief[busy] = r * p[:, problem.letter]
            gradient, hessian = _derivatives(problem, dual, lam, w, r, z, p)
            mask = real[busy]
            if step == 0:
                slack[busy] = np.where(mask, np.maximum(gradient, 1e-3), 1.0)
            rest = np.where(mask, x[busy] * slack[busy], 0.0).sum(axis=1)
            off = np.where(mask, np.abs(gradient - slack[busy]) * np.maximum(x[busy], 1e-3), 0.0).sum(axis=1)
            go = (best[busy] > enough) & (rest + off > accuracy)
            if not go.all():
                keep = np.flatnonzero(go)
                dual, busy, mask = dual.part(go), busy[keep], mask[keep]
                gradient, hessian, g, rest = gradient[keep], hessian[keep], g[keep], rest[keep]
            if not busy.size:
                break
            t = np.maximum(0.12 * rest / mask.sum(axis=1), 1e-4 * accuracy / mask.sum(axis=1))
            x[busy], slack[busy], moved = _advance(dual, x[busy], slack[busy], gradient, hessian, g, t, mask, shape)
            busy = busy[moved]
            if not busy.size:
                break
    push = best_x[:, 1:].reshape(count, *shape)
    bound = np.minimum(best, whole.at_zero(push)) + whole.slack(best_x[:, 0], push, best_w)
    return Relaxed(bound, belief, Boxes(boxes.low, boxes.high, best_x[:, 0] + whole.paid, push, boxes.node))


def _advance(
    dual: _Dual,
    x: Floats,
    slack: Floats,
    gradient: Floats,
    hessian: Floats,
    g: Floats,
    t: Floats,
    mask: Bools,
    shape: tuple[int, int, int],
) -> tuple[Floats, Floats, Bools]:
    """One primal-dual step: ∇g = s, x s = t, with a line search on g - t Σ log x."""
    safe = np.where(mask, x, 1.0)
    scaling = np.where(mask, x, 1.0)  # relative steps: the multipliers differ by orders of magnitude
    matrix = hessian * scaling[:, :, None] * scaling[:, None, :]
    matrix = np.where(mask[:, :, None] & mask[:, None, :], matrix, 0.0)
    diagonal = np.arange(x.shape[1])
    matrix[:, diagonal, diagonal] += np.where(mask, slack * safe * (1 + 1e-12), 1.0)
    force = np.where(mask, t[:, None] / safe - gradient, 0.0)
    try:
        step = np.linalg.solve(matrix, (force * scaling)[:, :, None])[:, :, 0] * scaling
    except np.linalg.LinAlgError:  # g is flat along a side, as it is for mechanisms without noise
        step = (np.linalg.pinv(matrix, hermitian=True) @ (force * scaling)[:, :, None])[:, :, 0] * scaling
    step = np.where(mask, step, 0.0)
    new_slack = np.where(mask, (t[:, None] - slack * step) / safe, 1.0)  # s + Δs
    # Stay inside, and let λ grow by a factor of ten at most.
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(mask & (step < 0), -0.95 * x / step, np.inf).min(axis=1)
        reach = np.minimum(reach, np.where(step[:, 0] > 0, 9 * x[:, 0] / step[:, 0], np.inf))
        fall = new_slack - slack
        slack_reach = np.where(mask & (fall < 0), -0.95 * slack / fall, np.inf).min(axis=1)
    length = np.minimum(1.0, reach)
    slack = slack + np.minimum(1.0, slack_reach)[:, None] * fall
    slope = -(force * step).sum(axis=1)
    merit = g - t * np.where(mask, np.log(safe), 0.0).sum(axis=1)
    result = x.copy()
    left = np.arange(len(x))
    for _ in range(_HALVINGS):
        trial = x[left] + length[left, None] * step[left]
        some = np.zeros(len(x), dtype=bool)
        some[left] = True
        value = dual.part(some).value(trial[:, 0], trial[:, 1:].reshape(-1, *shape))[0]
        logs = np.where(mask[left], np.log(np.where(mask[left], trial, 1.0)), 0.0).sum(axis=1)
        fine = value - t[left] * logs <= merit[left] + 1e-4 * length[left] * slope[left] + 1e-15
        result[left[fine]] = trial[fine]
        left = left[~fine]
        if not left.size:
            break
        length[left] *= 0.4
    moved = np.ones(len(x), dtype=bool)
    moved[left] = False  # as far as floating point goes
    return result, np.maximum(slack, 1e-16), moved


def _derivatives(
    problem: Problem, dual: _Dual, lam: Floats, w: Floats, r: Floats, z: Floats, p: Floats
) -> tuple[Floats, Floats]:
    """Gradient and Hessian of g in (λ, μ): covariances within and between the values of the record."""
    count, k = w.shape
    outputs, letters = problem.rows.shape[1], dual.letters
    low, high = dual.low[:, :, letters], dual.high[:, :, letters]  # B×M×J
    is_letter = (problem.letter[:, None] == np.array(letters)).astype(np.float64)  # K×J
    rows = problem.rows[None, :, :, None]
    under = rows * (is_letter[None, :, None, :] - low[:, None])  # B×K×M×J
    over = rows * (high[:, None] - is_letter[None, :, None, :])
    sides = outputs * len(letters)
    features = np.empty((count, k, 1 + 2 * sides))
    features[:, :, 0] = -w / lam[:, None]
    features[:, :, 1 : 1 + sides] = under.reshape(count, k, sides)
    features[:, :, 1 + sides :] = over.reshape(count, k, sides)
    means = np.empty((count, problem.letters, 1 + 2 * sides))
    hessian = np.zeros((count, 1 + 2 * sides, 1 + 2 * sides))
    for a, block in enumerate(problem.blocks):
        f = features[:, block]
        weight = r[:, block]
        means[:, a] = np.matmul(weight[:, None, :], f)[:, 0]
        centred = f - means[:, a][:, None, :]
        scaled = centred * (weight * (p[:, a] / lam)[:, None])[:, :, None]
        hessian += np.matmul(scaled.transpose(0, 2, 1), centred)
    # ∂z_a/∂λ = H(r_a) + E log m = (z_a - E w)/λ; between letters the feature of λ is that less z_a/(1+λ).
    mean_w = -means[:, :, 0] * lam[:, None]
    slope = (z - mean_w) / lam[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.where(p > 0, p * np.log(p), 0.0).sum(axis=1)
    gradient = np.matmul(p[:, None, :], means)[:, 0]
    gradient[:, 0] = entropy + (p * slope).sum(axis=1) - dual.b
    outer = dual.weight + lam
    means[:, :, 0] = slope - z / outer[:, None]
    centred = means - np.matmul(p[:, None, :], means)
    scaled = centred * (p / outer[:, None])[:, :, None]
    hessian += np.matmul(scaled.transpose(0, 2, 1), centred)
    return gradient, hessian
