"""The utilities that have a name: f-informations, the error of recovered frequencies, and those with labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput, did_you_mean
from leakwise.exact import float_above, float_below, inverse_trace, rank_of, ratio_array
from leakwise.leakage.measures.divergences import DIVERGENCES, as_convex
from leakwise.mechanism import CommonLawKernel, Kernel
from leakwise.optimize.bounds.chord import chord_duals, chord_slopes, flattened
from leakwise.optimize.problem.labelled_utilities import Expected, Gain, Guessing, LinearUtility
from leakwise.optimize.problem.utility import Utility, seen, summed
from leakwise.priors import Prior, PriorSet
from leakwise.proof import OptimalityClaim
from leakwise.types import Floats, Indices

__all__ = [
    "Expected",
    "FInformation",
    "Frequencies",
    "Gain",
    "LinearUtility",
    "Utility",
    "as_utility",
    "inverses",
    "to_eleven_digits",
]

# Larger alphabets are proven by chords, without duals.
_MOST_LETTERS = 4096
_MOST_ENTRIES = 4096  # of a matrix whose lifts are compared with 1 in integers
LITTLE = 1e-9  # of a value, which nobody misses
_LOST = 1e-8  # of a value, what floats may lose before long numbers are taken
_LARGEST_EXACT = 64  # letters whose information matrix is inverted in long numbers
_LEAST_NORMAL = 2.0**-1022  # floats below it have fewer digits


@dataclass(frozen=True)
class FInformation(Utility):
    """The f-information Σ_ij π_i q_j f(λ_ij) for a convex f with f(1) = 0.

    Parameters
    ----------
    f
        A convex function of a NumPy array of non-negative numbers, finite at 0 and zero at 1 (checked, with the
        counter-example in the error), or one of the names ``"mutual_information"``, ``"total_variation"``,
        ``"chi_square"``, ``"hellinger"``.
    name
        What to call it; the name of ``f``, or ``"f_information"``, when left out.

    Examples
    --------
    >>> FInformation(lambda x: (x - 1) ** 4, name="fourth").name
    'fourth'
    """

    f: Any
    name: str = ""

    kind = "information"
    separable = True
    symmetric = True
    structured = True
    least = 0.0  # f(1)

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.f if isinstance(self.f, str) else "f_information")
        object.__setattr__(self, "f", as_convex(self.f))

    def columns_worth(self, lifts: Floats, prior: Prior) -> Floats:
        worth: Floats = prior.probabilities @ self.f(lifts)
        return worth

    def slopes(self, lifts: Floats, prior: Prior) -> Floats:
        below = np.maximum(lifts - 1e-6, 0.0)
        slopes: Floats = prior.probabilities[:, None] * (self.f(lifts + 1e-6) - self.f(below)) / (lifts + 1e-6 - below)
        return slopes

    def chord(self, low: Floats, high: Floats, prior: Prior) -> tuple[Floats, float]:
        slopes = prior.probabilities * chord_slopes(self.f, low, high)
        return slopes, float(prior.probabilities @ self.f(low) - slopes @ low)

    def chord_gaps(self, low: Floats, high: Floats, point: Floats, prior: Prior) -> Floats:
        chord = self.f(low) + chord_slopes(self.f, low, high) * (point - low)
        gaps: Floats = prior.probabilities * (chord - self.f(point))
        return gaps

    def interval(self, kernel: Kernel, prior: Prior, says: Indices | None = None) -> tuple[float, float]:
        low, high = self._in_floats(kernel, prior)
        beside = next((_BESIDE_ONE[name] for name, f in DIVERGENCES.items() if f is self.f), None)
        if high - low <= LITTLE * high or beside is None or math.prod(kernel.shape) > _MOST_ENTRIES:
            return low, high
        # Where nearly all lifts are nearly 1 floats leave little of what they differ by: the integers do.
        law, total = np.array(kernel.output_law(prior.weights), dtype=np.object_), prior.denominator
        used = law > 0
        own, law = kernel.weights[:, used].astype(np.object_) * total, law[used]
        try:
            lifts, differences = (own / law).astype(np.float64), ((own - law) / law).astype(np.float64)
        except OverflowError:  # a lift that is no float
            return low, high
        p, q = prior.probabilities, (law / (total * kernel.denominator)).astype(np.float64)
        worth = q * beside(lifts, differences)
        size = float((p[:, None] * (np.abs(worth) + q * np.abs(differences))).sum())
        if min(p[prior.support].min(), q.min()) < _LEAST_NORMAL or not math.isfinite(size):
            return low, high
        # What falls below the least float loses no more than a few of it for each term.
        value, slack = math.fsum((p[:, None] * worth).ravel()), size * 2.0**-47 + worth.size * _LEAST_NORMAL
        return max(value - slack, 0.0), value + slack

    def _in_floats(self, kernel: Kernel, prior: Prior) -> tuple[float, float]:
        if not isinstance(kernel, CommonLawKernel):
            return super().interval(kernel, prior)
        # A column of a common law plus a diagonal has two values only: no matrix at any size.
        mass = kernel.output_law_floats(prior.weights, prior.denominator)
        safe, others = np.where(mass > 0, mass, 1.0), ratio_array(prior.denominator - prior.weights, prior.denominator)
        common = ratio_array(kernel.common, kernel.denominator)
        own = ratio_array(kernel.common + kernel.diagonal, kernel.denominator)
        terms = mass * prior.probabilities * self.f(own / safe), mass * others * self.f(common / safe)
        return summed(np.concatenate(terms))

    def _moved(self, lifts: Floats, law: Floats, prior: Prior, units: float) -> float:
        # A convex f moves at most as far as at the ends of the error; it is accurate to units of 1 + λ and of its
        # value, of which the lifts average to 1.
        at = self.f(lifts)
        swing = np.maximum(np.maximum(self.f(lifts * (1 + units)), self.f(lifts * (1 - units))) - at, 0.0)
        return float(law @ (prior.probabilities[:, None] * (np.abs(at) * units + swing)).sum(axis=0)) + 2 * units

    def closed_form_proof(
        self, kernel: Kernel, prior: Prior, box: tuple[Floats, Floats], bound: float
    ) -> tuple[Floats, Floats | None]:
        """The chords of Theorems 2 and 3, equal shares for Theorem 4."""
        if len(set(prior.weights.tolist())) == 1:
            return np.full(len(prior), bound / len(prior)), None
        p = prior.probabilities
        return chord_duals(flattened(self.f, p, *box), p, *box), None

    def claim(self, claim: OptimalityClaim, priors: PriorSet) -> tuple[OptimalityClaim | None, str | None]:
        # The checker knows the function by its own name, whatever the user calls it.
        name = next((known for known, f in DIVERGENCES.items() if f is self.f), "")
        if not name:
            return None, "a Python function cannot be stored"
        many = int(priors.support.sum()) > _MOST_LETTERS
        return replace(claim, utility=name, duals=np.empty(0) if many else claim.duals), None


def _entropy_beside_one(x: Floats, d: Floats) -> Floats:
    close = np.abs(d) < 0.5
    entropy: Floats = x * np.where(close, np.log1p(np.where(close, d, 0.0)), np.log(np.where(x > 0, x, 1.0))) - d
    return entropy


# f(x) of the named ones from x and d = x - 1, each with one rounding, but for a multiple of d, which adds nothing:
# within a few roundings of |f| + |d|.
_BESIDE_ONE: dict[str, Callable[[Floats, Floats], Floats]] = {
    "mutual_information": _entropy_beside_one,
    "total_variation": lambda x, d: np.abs(d) / 2,
    "chi_square": lambda x, d: d * d,
    "hellinger": lambda x, d: (d / (1 + np.sqrt(x))) ** 2,
}


class Frequencies(Utility):
    """How well the frequencies can be recovered: minus the sum of their asymptotic variances, per released row.

    From m rows the estimated frequencies have covariance (J⁻¹ - ππᵀ)/m with J = Σ_j q_j λ_j λ_jᵀ; the
    value is -(trace J⁻¹ - Σ π²), -∞ for a mechanism that does not identify them. No sum over columns; beside those of
    a mechanism a further one is worth |J⁻¹λ|². ``root`` is that J⁻¹; that of the secret itself, diag(π), if left out.
    """

    name = "frequencies"
    kind = "frequencies"
    shares: Floats | None = None  # of contrasts whose weighed sum counts, not the largest

    def __init__(self, root: Floats | None = None) -> None:
        self.root = root

    def contrasts_at(self, prior: Prior) -> Floats | None:
        """Return the contrasts whose largest variance counts, centred at the prior; None for the sum of all."""
        return None

    def columns_worth(self, lifts: Floats, prior: Prior) -> Floats:
        root = np.diag(prior.probabilities) if self.root is None else self.root
        worth: Floats = np.sum((root @ lifts) ** 2, axis=0)
        return worth

    def slopes(self, lifts: Floats, prior: Prior) -> Floats:
        root = np.diag(prior.probabilities) if self.root is None else self.root
        slopes: Floats = 2 * root.T @ (root @ lifts)
        return slopes

    def linearised(self, lifts: Floats, law: Floats) -> tuple[Utility, Floats | None]:
        root = np.asarray(np.linalg.inv((lifts * law) @ lifts.T), dtype=np.float64)
        return Frequencies(root), root

    def value(self, lifts: Floats, law: Floats, prior: Prior) -> float:
        return _recovered(lifts, law, prior.probabilities)[0]

    def interval(self, kernel: Kernel, prior: Prior, says: Indices | None = None) -> tuple[float, float]:
        lifts, law = seen(kernel, prior)
        value, lost = _recovered(lifts, law, prior.probabilities)
        if not (math.isfinite(value) and lost <= _LOST * abs(value)) and len(prior) <= _LARGEST_EXACT:
            # Where all lifts are nearly 1 floats leave nothing of J - 11ᵀ: the integers do.
            masses = [int(mass) for mass in kernel.output_law(prior.weights)]
            used = [place for place, mass in enumerate(masses) if mass]
            rows = kernel.weights[:, used].tolist()
            ends = inverse_trace(rows, [masses[place] for place in used]) if prior.support.all() else None
            if ends is not None:
                squares = sum((mass * mass for mass in prior.fractions), Fraction(0))
                low, high = (squares - end * kernel.denominator / prior.denominator for end in (ends[1], ends[0]))
                return to_eleven_digits(float_below(low)), float_above(high)
            if prior.support.all() and rank_of(rows) < len(prior):
                return -math.inf, -math.inf
        lower = to_eleven_digits(value - lost)
        if math.isfinite(lower) or len(law) < len(lifts):
            return lower, 2 * value - lower if math.isfinite(lower) else value
        return lower, float((prior.probabilities**2).sum()) - 1 + 2.0**-40  # J_ii ≤ 1/π_i, whatever J is

    def closed_form_proof(
        self, kernel: Kernel, prior: Prior, box: tuple[Floats, Floats], bound: float
    ) -> tuple[Floats, Floats | None]:
        return self.column_duals(kernel, prior)

    def claim(self, claim: OptimalityClaim, priors: PriorSet) -> tuple[OptimalityClaim | None, str | None]:
        proven = len(claim.duals) > 0 or claim.total is not None
        if not math.isfinite(claim.value) or not math.isfinite(claim.bound) or not proven:
            return None, "its error is not finite, or not proven"
        return replace(claim, utility=self.name), None


def _recovered(lifts: Floats, law: Floats, p: Floats) -> tuple[float, float]:
    """Σπ² - trace J⁻¹, and how far the truth may be below that; ∞ where J is not safely invertible."""
    best = -math.inf, math.inf
    for scale, inverse, miss in inverses(lifts, law, p):
        trace = float(scale**2 @ np.diag(inverse))
        value, lost = float((p**2).sum()) - trace, (1 + trace) * (len(p) + 16) * 2.0**-48
        lost += miss * float((scale**2).sum())
        if value - lost > best[0] - best[1] or not math.isfinite(best[0]):
            best = value, lost
        if lost < LITTLE * abs(value):
            break
    return best


def inverses(lifts: Floats, law: Floats, p: Floats) -> Iterator[tuple[Floats, Floats, float]]:
    """Yield a scale of the letters, the inverse of J with rows and columns weighed by it, and a norm of what it misses.

    Weighed by √π, J is well conditioned where outcomes are much like the values, 1 on the diagonal for the identity; as
    it is where lifts are limited and a value is rare.
    """
    information = (lifts * law) @ lifts.T
    for scale in (np.sqrt(p), np.ones(len(p))):
        scaled = scale[:, None] * information * scale
        if len(law) >= len(p) and np.isfinite(scaled).all() and np.linalg.cond(scaled) <= 1e13:
            yield scale, *_inverse(scaled, len(law))


def _inverse(scaled: Floats, outcomes: int) -> tuple[Floats, float]:
    """The inverse of J weighed on both sides, and a norm of what it may be off.

    J is known to N units of its entries, the inverse to as many of the condition that they have with it: from
    ‖J⁻¹‖·e/(1-e), the bound on a perturbed inverse. The checker measures the same with its own order of sums, so that
    four times the units are counted here.
    """
    size = len(scaled)
    values, vectors = np.linalg.eigh(scaled)
    if not values[0] > 0:
        return np.full_like(scaled, math.inf), math.inf
    inverse = (vectors / values) @ vectors.T
    units = 4 * (size + outcomes + 16) * 2.0**-50
    error = float(np.linalg.norm(np.abs(scaled) @ np.abs(inverse))) * units
    error += 4 * float(np.linalg.norm(np.eye(size) - scaled @ inverse))
    if not error < 0.5:
        return inverse, math.inf
    return inverse, float(np.linalg.norm(inverse)) * error / (1 - error)


def to_eleven_digits(value: float) -> float:
    """Return a float rounded down to 36 bits: the digits of an inverse that machines agree on."""
    if not math.isfinite(value) or not value:
        return value
    unit = math.ldexp(1.0, math.frexp(value)[1] - 36)
    return math.floor(value / unit) * unit


_NAMED: dict[str, Utility] = {
    **{name: FInformation(f, name) for name, f in DIVERGENCES.items()},
    "guessing": Guessing(),
    "frequencies": Frequencies(),
}


def as_utility(utility: Any, *, averaged: bool = False) -> Utility:
    """Return a utility from its name or from an object; ``averaged``: only one that averages over outcomes."""
    if isinstance(utility, Utility):
        if averaged and utility.kind == "worst_case":
            raise InvalidInput(
                "utility must be one that averages over outcomes. For lw.WorstCase use lw.design or "
                "lw.worst_case_curve."
            )
        return utility
    if isinstance(utility, str) and utility in _NAMED:
        return _NAMED[utility]
    raise InvalidInput(
        f"utility must be one of {', '.join(sorted(_NAMED))}, or an object such as lw.FInformation(f), lw.Gain(matrix) "
        f"or lw.Expected(matrix). Got {utility!r} instead.{did_you_mean(utility, _NAMED)}"
    )
