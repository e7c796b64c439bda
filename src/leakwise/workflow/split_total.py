"""How a total for the whole row is split among several secrets, so that what is estimated of each is best.

The lifts of releases of one row multiply (the mathematics, section 8): a total T is kept by lifts t_i with ∏ t_i ≤ T.
Which ones are best is a matter of how fast the variance of each secret's frequencies grows as its lift falls.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from leakwise.alphabet import joined
from leakwise.charts.shown import Parts, Shown, Table
from leakwise.errors import InvalidInput, LeakwiseWarning
from leakwise.exact import Level, level
from leakwise.guarantee import at_most
from leakwise.leakage.rows.joint import secret_name
from leakwise.priors import Prior, PriorByStratum, PriorSet, as_prior_set
from leakwise.types import Floats
from leakwise.workflow.limits import TEN_TIMES, release_limits
from leakwise.workflow.mechanism import Kept, release_utility

__all__ = ["Split", "split_total"]

K = TypeVar("K", bound=Hashable)

# Lifts of each secret for which a mechanism is designed; in between the logarithm of the loss is a smooth falling
# function of log(t - 1), of which it is nearly linear: variances go with 1/(t - 1), near 1 some with its square.
_LIFTS = 9
# Parts of the logarithm of the total that are shared out: halves of a part cost a square of that, next to nothing.
_PARTS = 2000
# Digits of a lift less 1 that is found.
_DIGITS = 4
# Strata of a secret that count for its curve: the heaviest ones.
_STRATA = 5
# Seconds for one design; it need not be the best one.
_SECONDS = 2.0
# Where losses do not depend on the lifts, all are made smaller alike: how much that counts.
_EVENLY = 1e-6
# Shares of wrong values below this are not told apart: what is nearly always right need not be better still.
_LEAST_WRONG = 0.01


@dataclass(frozen=True, repr=False)
class Split(Shown):
    """The lifts that keep a total, and what they cost.

    Attributes
    ----------
    lifts
        The lift of each secret, exact; their product is at most ``total``, and none is above what was asked.
    total
        The largest lift of any guess about the row that was allowed.
    asked
        The lifts that were asked.
    times
        How many times the variance of a secret's frequencies (for reading: the share of wrong values) is what it
        would be at the lift that was asked, about; 1 where that is kept.
    """

    lifts: Mapping[Any, Fraction]
    total: Fraction
    asked: Mapping[Any, Fraction]
    times: Mapping[Any, float]

    @cached_property
    def product(self) -> Fraction:
        """The lift of any guess about the row that the lifts allow together."""
        return math.prod(self.lifts.values(), start=Fraction(1))

    @property
    def words(self) -> str:
        """What was done, in a sentence."""
        if self.lifts == self.asked:
            return f"The lifts that were asked keep the total of {at_most(self.total)}."
        told = [
            f"{secret_name(key)} {at_most(one)} instead of {at_most(self.asked[key])}"
            if one < self.asked[key]
            else f"{secret_name(key)} {at_most(one)} as asked"
            for key, one in self.lifts.items()
        ]
        return (
            f"So that the lifts for the whole row multiply to at most {at_most(self.total)}, the secrets have "
            f"{joined(told)}, which is best for the accuracy of all of them."
        )

    def _shown(self) -> Parts:
        rows = [
            [secret_name(key), at_most(self.asked[key]), at_most(one), f"{self.times[key]:.3g}"]
            for key, one in self.lifts.items()
        ]
        return [Table(["secret", "lift asked", "lift", "variance, times that at the lift asked"], rows, self.words)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "total": float(self.total),
            "secrets": [
                {
                    "secret": secret_name(key),
                    "asked": float(self.asked[key]),
                    "lift": str(one),
                    "variance_times": self.times[key],
                }
                for key, one in self.lifts.items()
            ],
        }


def split_total(
    lifts: Mapping[K, object],
    priors: Mapping[K, Any],
    total: object,
    *,
    anyone: Any = TEN_TIMES,
    use: str = "statistics",
    keep: Kept | None = None,
) -> Split:
    r"""Find the lifts of several secrets that keep a total for the whole row and are best for the accuracy of all.

    Minimize :math:`\sum_i V_i(t_i) / V_i(t_i^{asked})` over lifts with :math:`\prod t_i \le` ``total`` and
    :math:`1 \le t_i \le t_i^{asked}`, where V is the summed variance of the frequencies that are estimated from one
    row (for reading: the share of wrong values). Each variance is compared with what it would be at the lift that was
    asked: a secret with many values, whose variances are large, does not take the total from the others; and since V
    grows beyond every bound as a lift falls to 1, none is given up. The curves are those of designs at a few lifts,
    and the split is the best of all on a fine grid: nothing has to be convex.

    Parameters
    ----------
    lifts
        The lift that is asked for each secret: the most that it gets.
    priors
        For each secret a prior or a set of priors, whose nominal one counts, or priors by stratum, of which the
        heaviest do. They decide the split, which is seen: what is not public must not be in them (for
        ``prior="table"`` give rounded frequencies, ``coarse_prior``).
    total
        The largest lift allowed for any guess about the row, at least the largest lift of a single secret.
    anyone
        The limit for anyone, one for all secrets or a mapping from them; ten times the lift that is found by default.
    use, keep
        What the release is for, as in :func:`leakwise.protect`.

    Examples
    --------
    >>> found = split_total({"smokes": 2, "sex": 2}, {"smokes": [0.7, 0.3], "sex": [0.5, 0.5]}, 2)
    >>> {key: f"{float(lift):.2f}" for key, lift in found.lifts.items()}
    {'smokes': '1.34', 'sex': '1.49'}
    """
    limits = {key: level(lift=one) for key, one in lifts.items()}
    most = level(lift=total)
    if missing := [key for key in lifts if key not in priors]:
        raise InvalidInput(f"priors must have a prior for every secret. {joined(map(secret_name, missing))} has none.")
    asked = {key: one.below for key, one in limits.items()}
    if not asked:
        raise InvalidInput("lifts must name at least one secret with its lift. Got none.")
    first = max(asked, key=asked.__getitem__)
    if most.below < asked[first]:
        raise InvalidInput(
            f"total (--total) is {_shown(most)}, and {secret_name(first)} alone asks for a lift of "
            f"{_shown(limits[first])}: what is told about one secret is told about the row. Give a total of at least "
            "that, or smaller lifts."
        )
    if math.prod(asked.values()) <= most.below:
        return Split(asked, most.above, asked, dict.fromkeys(asked, 1.0))
    limit_of = anyone if isinstance(anyone, Mapping) else dict.fromkeys(lifts, anyone)
    curves = [
        _Curve(priors[key], asked[key], limit_of.get(key, TEN_TIMES), use, keep, _least(asked, key, most.below))
        for key in lifts
    ]
    found = _rounded(_shared(curves, math.log(most.below)), list(asked.values()), most.below)
    return Split(
        dict(zip(lifts, found, strict=True)),
        most.above,
        asked,
        {key: float(one.at(math.log(lift))) for key, one, lift in zip(lifts, curves, found, strict=True)},
    )


def _least(asked: Mapping[Any, Fraction], key: Hashable, total: Fraction) -> float:
    """The lift that a secret has at least: what is left where all others have what they ask."""
    return max(1.0, float(total * asked[key] / math.prod(asked.values())))


class _Curve:
    """How many times the loss at the lift that was asked the loss is at a smaller one."""

    def __init__(self, prior: Any, asked: Fraction, anyone: object, use: str, keep: Kept | None, least: float) -> None:
        self._parts = _parts(prior)
        self.top = float(asked)
        self._ends: tuple[Floats, Floats] | None = None
        if not self._parts or asked == 1:
            return  # nothing is learned of it, or nothing is to be: it needs no lift
        span = self.top - 1
        rooms = np.geomspace(min(max(least - 1, span / 64), 0.9 * span), span, _LIFTS)
        losses = np.array([self._loss(1 + room, anyone, use, keep) for room in rooms[:-1]] + [0.0])
        losses[-1] = self._loss(asked, anyone, use, keep)
        # A mechanism for a smaller lift is one for a larger: a search that fell short does not count.
        losses = np.minimum.accumulate(losses)
        self._ends = np.log(rooms), np.log(losses) - math.log(losses[-1])

    def at(self, logs: Any) -> Floats:
        """The loss at lifts given by their logarithms, compared with that at the lift that was asked."""
        if self._ends is None:
            return np.ones_like(np.asarray(logs, dtype=np.float64))
        from scipy.interpolate import PchipInterpolator

        x, y = self._ends
        with np.errstate(divide="ignore"):
            rooms = np.log(np.expm1(np.minimum(logs, math.log(self.top))))
        below = rooms < x[0]
        slope = min((y[1] - y[0]) / (x[1] - x[0]), -1.0)  # variances grow at least with 1/(t - 1)
        inside = PchipInterpolator(x, y)(np.maximum(rooms, x[0]))
        found: Floats = np.exp(np.where(below, y[0] + slope * (rooms - x[0]), inside))
        return found

    def _loss(self, lift: object, anyone: object, use: str, keep: Kept | None) -> float:
        from leakwise.optimize import design

        limits = release_limits(None, lift, anyone=anyone)
        total = 0.0
        for weight, prior in self._parts:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LeakwiseWarning)  # how far it is from the best does not matter here
                utility = release_utility(use, len(prior), keep)
                value = design(prior, limits, utility=utility, time_limit=_SECONDS).value
            total += weight * (-value if use == "statistics" else max(1 - value, _LEAST_WRONG))
        return total


def _parts(prior: Any) -> list[tuple[float, Prior]]:
    """The nominal priors with their weights; none where the secret is declared to have one value only."""
    listed: list[tuple[float, PriorSet]]
    if isinstance(prior, PriorByStratum):
        heaviest = sorted(prior, key=lambda key: -prior.weights[key])[:_STRATA]
        listed = [(float(prior.weights[key]), prior[key]) for key in heaviest]
        rest: PriorSet = prior.marginal
    else:
        listed, rest = [], as_prior_set(prior)
    # Where a value is certain nothing is left to estimate.
    found = [(weight, one.nominal) for weight, one in listed if np.count_nonzero(one.nominal.weights) > 1]
    if found or len(rest.nominal) == 1:
        return found
    # A value that a sample happened to have alone need not be certain.
    several = np.count_nonzero(rest.nominal.weights) > 1
    return [(1.0, rest.nominal if several else Prior.uniform(rest.nominal.alphabet))]


def _shared(curves: list[_Curve], total: float) -> list[float]:
    """The logarithms of lifts that add up to that of the total with the least sum of losses, on a grid of parts."""
    logs = np.linspace(0.0, total, _PARTS + 1)
    best = np.zeros(_PARTS + 1)
    taken = []
    for curve in curves:
        own = curve.at(logs) + _EVENLY * (1 - np.minimum(1.0, logs / max(math.log(curve.top), 1e-12))) ** 2
        parts = min(_PARTS, math.ceil(math.log(curve.top) / total * _PARTS))
        # Row n: the first secrets have n parts together, of which this one has as many as the column says.
        sums = np.full((_PARTS + 1, parts + 1), np.inf)
        for part in range(parts + 1):
            sums[part:, part] = best[: _PARTS + 1 - part] + own[part]
        taken.append(sums.argmin(axis=1))
        best = sums.min(axis=1)
    left, found = _PARTS, []
    for places in reversed(taken):
        found.append(float(logs[places[left]]))
        left -= int(places[left])
    return found[::-1]


def _rounded(logs: list[float], asked: list[Fraction], total: Fraction) -> list[Fraction]:
    """Lifts of few digits whose exact product is at most the total; what rounding leaves goes to the first that can."""
    found = [min(_down(Fraction(math.exp(one))), most) for one, most in zip(logs, asked, strict=True)]
    while (product := math.prod(found)) > total:  # the exponential may have been a hair too large
        place = max(range(len(found)), key=found.__getitem__)
        found[place] = max(Fraction(1), _down(found[place] * total / product))
    for place, most in enumerate(asked):
        if found[place] > 1:
            found[place] = min(most, max(found[place], _down(total * found[place] / math.prod(found))))
    return found


def _down(lift: Fraction) -> Fraction:
    """A lift with few digits in what it is above 1, not above the one given."""
    room = lift - 1
    if room <= 0:
        return Fraction(1)
    digits = _DIGITS - 1 - math.floor(math.log10(room))
    scale = Fraction(10) ** digits
    return 1 + Fraction(math.floor(room * scale)) / scale


def _shown(one: Level) -> str:
    return at_most(one.shown)
