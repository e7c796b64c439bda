"""Accuracy in, leakage out: the least lift with which margins are met, and the proof that less does not suffice.

The least largest variance falls as the lift grows, about as 1/(lift - 1): a root search over designs. The proof is the
bound of a design at a slightly smaller lift: no mechanism there has all its variances within what the margins allow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.errors import Infeasible, InvalidInput
from leakwise.exact import level
from leakwise.optimize.design_result import Design
from leakwise.optimize.margin_result import MarginDesign
from leakwise.optimize.problem.cones import Cone
from leakwise.optimize.problem.margins import Margins, asked_margins
from leakwise.optimize.search.limits import Limits
from leakwise.priors import Prior, PriorSet, as_prior_set
from leakwise.proof import AskedLimits

__all__ = [
    "LimitsAt",
    "at_lift",
    "first_lift",
    "least_lift",
    "margin_design",
    "proven_least",
    "refuse_beside_margin",
]

LimitsAt = Callable[[float], AskedLimits]
"""All limits at a lift: those that were asked for, and the lift itself."""

_STEPS = 24
_CLOSE = 2e-4  # of a variance that is left over: a ten-thousandth of an interval
_NARROW = 5e-4  # of what the lift is above 1
_ATTEMPT = 0.2  # of the time that is left, for one design
_LARGEST = 1e6  # a larger lift limits nothing
# How much smaller lifts are shown not to suffice: by 1% of what is above 1, of the lift itself, or as much as it takes.
_LESS = 0.01
_PROOFS = 5


def refuse_beside_margin(asked: AskedLimits, utility: Any, keep_frequencies: bool) -> None:
    """Refuse what a margin does not go with."""
    asked.refuse_in_total("margin, which finds the least lift")
    if asked.level is not None:
        raise InvalidInput(
            f"margin does not go with a lift (or epsilon): it finds the least one. Leave out {asked.level.words}, or "
            "leave out margin and rows."
        )
    if keep_frequencies or utility not in ("mutual_information", "frequencies"):
        raise InvalidInput(
            "margin goes with no other utility, and not with keep_frequencies: what is to be known is the utility. "
            "Leave utility= (--utility) out."
        )


def margin_design(
    prior: Any, goal: tuple[Any, Any, Any], limits_at: LimitsAt, method: str, limits: Limits, within: Cone | None = None
) -> MarginDesign:
    """Return the design of least lift for a prior or a set of priors; ``goal`` are margin, rows and values."""
    priors = as_prior_set(prior)
    margins = asked_margins(priors.nominal, *goal)
    attempt = _attempts(priors, margins, limits_at, method, limits, within)
    found, lift = least_lift(attempt, first_lift(margins, priors.nominal), _most(priors, limits_at), margins.rows)
    return _with_proof(found, attempt, lift, margins, limits_at, limits)


def _attempts(
    priors: PriorSet, margins: Margins, limits_at: LimitsAt, method: str, limits: Limits, within: Cone | None
) -> Callable[..., Design]:
    """Return the function that designs at a lift."""
    from leakwise.optimize.design import designed

    def attempt(lift: float, *, rough: bool = True) -> Design:
        part = replace(limits.part(_ATTEMPT), rough=rough)
        with np.errstate(all="ignore"):
            found = designed(priors, limits_at(lift), margins, method, part, within)
        limits.stopped |= part.stopped
        limits.tell("lift", -lift, found.value)
        return found

    return attempt


def proven_least(
    found: Any, priors: PriorSet, margins: Margins, limits_at: LimitsAt, lift: float, seconds: float
) -> MarginDesign:
    """Return a design that meets margins at a lift with the proof that less does not suffice, where there is one."""
    limits = Limits(seconds=seconds)
    attempt = _attempts(priors, margins, limits_at, "auto", limits, None)
    return _with_proof(found, attempt, lift, margins, limits_at, limits)


def _with_proof(
    found: Design, attempt: Callable[..., Design], lift: float, margins: Margins, limits_at: LimitsAt, limits: Limits
) -> MarginDesign:
    claim = _proof(attempt, lift, limits)
    if claim is not None:
        claim = replace(claim, value=found.value)
    remark = None if claim is not None else "no bound of the checker's own at a smaller lift"
    certificate = replace(found.certificate, optimality=claim, remark=remark)
    # The value is the lift, which the proof bounds from below.
    fields = {name: getattr(found, name) for name in ("mechanism", "method", "prior")}
    lower = 1.0 if claim is None else float(claim.high or 1)
    words = limits_at(lift).describe()
    return MarginDesign(
        **fields,
        value=lift,
        bound=lower,
        certificate=certificate,
        utility=margins.name,
        constraint=words,
        margins=margins,
    )


def _most(priors: PriorSet, limits_at: LimitsAt) -> float:
    """The largest lift there is: that of an outcome that makes the rarest value certain, or the limit for anyone."""
    ends = [_LARGEST]
    first, second = limits_at(2.0).anyone, limits_at(3.0).anyone
    if first is None and priors is priors.nominal:
        ends.append(float(1 / min(mass for mass in priors.nominal.fractions if mass)))
    elif first is not None and first == second:
        ends.append(float(first.below))
    return min(ends)


def first_lift(margins: Margins, prior: Prior) -> float:
    """Return about the least lift: (1 - π_i)²/(t - 1) is what a frequency's variance comes to where all goes well."""
    centred = margins.contrasts - prior.probabilities @ margins.contrasts
    return 1 + float((centred**2).max()) * 1.05


def least_lift(attempt: Callable[[float], Any], start: float, most: float, rows: float) -> tuple[Any, float]:
    """Return what an attempt at the least lift finds whose value is at least -1, and that lift, rounded up.

    An attempt's value is minus the largest variance, in units of what is allowed.
    """
    low, high, best = 1.0, math.inf, None
    seen: list[tuple[float, float]] = []  # logarithms: of what the lift is above 1, and of one over the variance
    lift = min(start, most)
    for _ in range(_STEPS):
        lift = min(_decimal(lift), most)
        found = attempt(lift)
        enough = found.value >= -1
        if enough:
            best, high = found, lift
        elif lift >= most:
            raise _unreachable(-found.value, rows)
        else:
            low = lift
        if math.isfinite(found.value):
            seen.append((math.log(lift - 1), -math.log(-found.value)))
        if enough and found.value <= -1 + _CLOSE:
            break
        lift = _next(seen, low, high)
        if best is not None and (high - low <= _NARROW * (high - 1) or _decimal(lift) >= high):
            break
    if best is None:
        raise _unreachable(-found.value, rows)
    return best, high


def _next(seen: list[tuple[float, float]], low: float, high: float) -> float:
    """The lift where the variance comes to a little less than 1: it is nearly a power of what the lift is above 1."""
    power = 1.0
    seen = sorted(seen, key=lambda pair: abs(pair[1]))
    if len(seen) > 1:
        (first, one), (second, other) = seen[:2]
        power = (other - one) / (second - first)
    ahead = math.inf
    if seen and power > 0:
        ahead = 1 + math.exp(min(seen[0][0] + (_CLOSE / 2 - seen[0][1]) / power, 700.0))
    if math.isfinite(high):
        return ahead if low < ahead < high else (low + high) / 2
    return min(max(ahead, 1 + (low - 1) * (1 + _LESS)), 1 + 16 * (low - 1))


def _decimal(lift: float) -> float:
    """A lift rounded up to a decimal with four digits of what it has above 1."""
    digits = max(4, 4 - math.floor(math.log10(max(lift - 1, 1e-12))))
    scale = 10**digits
    return float(Fraction(math.ceil(Fraction(lift) * scale - Fraction(1, 10**6)), scale))


def _proof(attempt: Callable[..., Design], lift: float, limits: Limits) -> Any:
    """The claim that a smaller lift does not suffice: the largest such lift of a few that are tried, None for none."""
    less = max(lift / (1 + _LESS), 1 + (lift - 1) * (1 - _LESS))
    for number in range(_PROOFS):
        less = float(np.nextafter(float(Fraction(str(round(less, 12)))), 0))
        if less <= 1 or (number and limits.exhausted):
            return None
        claim = attempt(less, rough=False).certificate.optimality
        if claim is None:
            return None
        if claim.bound < -1:
            return claim
        # The variance would have to be so much larger; the second try is 1% of the lift itself.
        further = 1 + (less - 1) * min(-claim.bound, 1.0) * (1 - 2e-3)
        less = max(further, lift / (1 + _LESS)) if number == 0 and further > lift / (1 + 2 * _LESS) else further
    return None


def _unreachable(variance: float, rows: float) -> Infeasible:
    """The error of margins that no lift meets within the other limits, with the rows that would do."""
    if not math.isfinite(variance):
        words = "no number of rows would show what is asked"
    else:
        words = f"{math.ceil(rows * variance * 1.001):,} rows would do"
    return Infeasible(
        f"No lift reaches the margin from {rows:,} rows within the other limits (anyone, lift_of, ceiling, floor, lip, "
        f"within): {words}. Give more rows, a larger margin, or looser limits.",
        witness=variance,
    )


def at_lift(asked: AskedLimits) -> LimitsAt:
    """Return the limits asked for with each lift beside them."""
    return lambda lift: replace(asked, level=level(lift=lift))
