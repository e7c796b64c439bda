"""What a noisy count tells about one value of a record: the events that speak for it, in floats and between rationals.

Of m unknown records each has the value with probability π. With F(k) = P(S_{m-1} + Z ≥ k), the outcomes from k on have
probability F(k-1) for a record with the value, and πF(k-1) + (1-π)F(k) for any record. The lift of an outcome rises
with the outcome, so that the best event of a given probability is a tail, with a share of the outcome at its border.
"""

from __future__ import annotations

import bisect
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from leakwise.exact import float_above, last_that_holds, noisy_binomial_tails

__all__ = ["TOO_RARE", "Measured", "Side", "attained_lift", "proven_lift"]

# The grid on which the number s of a mark lies: as fine as a float near 1 and a half.
_GRID = 1 << 80
_LARGEST = sys.float_info.max / 4  # two of which add up to a float
# Floats end at e^-745.
_FAINT = 745.0
# Below this probability floats do not find the border of an event.
TOO_RARE = Fraction(1, 10**280)


@dataclass(frozen=True)
class Side:
    """One value of a record in a count of the records that have it.

    Attributes
    ----------
    unknown, chance
        m and π.
    ratio
        α of the noise on the count, 0 for none.
    least_ratio
        The least ratio of the probabilities of an outcome for two values: α, or α² where a record moves two cells.
    """

    unknown: int
    chance: Fraction
    ratio: Fraction
    least_ratio: Fraction

    @property
    def top(self) -> Fraction | None:
        """The largest lift of an outcome, that of the tail; None where there is no bound."""
        bottom = self.chance + (1 - self.chance) * self.least_ratio
        return 1 / bottom if bottom else None

    # -- in floats, to find the place ---------------------------------------------------------------------------

    @cached_property
    def _tail(self) -> _FloatTail:
        return _FloatTail(self.unknown - 1, float(self.chance), float(1 - self.chance), float(self.ratio))

    def _from(self, k: int) -> tuple[float, float]:
        """P(Y ≥ k) for a record with the value, and for any record."""
        if k <= 0:
            return 1.0, 1.0
        if k > self.unknown:
            return 0.0, 0.0
        near, far = self._tail(k - 1), self._tail(k)
        return near, float(self.chance) * near + float(1 - self.chance) * far

    def _first(self, holds: Callable[[int], bool]) -> int:
        """The outcome before the first one from which on something holds."""
        return bisect.bisect_left(range(1, self.unknown + 1), True, key=holds)

    def probability(self, lift: float) -> float:
        """The probability of the largest event that speaks for the value with such a lift."""

        def reaches(k: int) -> bool:
            own, any_record = self._from(k)
            return own >= lift * any_record

        border = self._first(reaches)
        own, any_record = self._from(border + 1)
        if own == 0:
            return 0.0
        more_own, more = self._from(border)
        excess, lack = own - lift * any_record, lift * (more - any_record) - (more_own - own)
        share = min(1.0, max(0.0, excess / lack)) if lack > 0 else 1.0
        return any_record + share * (more - any_record)

    # -- between rationals, to prove it -------------------------------------------------------------------------

    def measured(self, probability: Fraction) -> Measured:
        """The tails around the border of the event of such a probability, between rationals."""
        if probability >= TOO_RARE:
            small = float(probability)
            return Measured(self, self._first(lambda k: self._from(k)[1] < small))

        def rarer(k: int) -> bool:
            tails = noisy_binomial_tails(self.unknown - 1, self.chance, self.ratio, (k - 1, k))
            return self.chance * tails[k - 1][1] + (1 - self.chance) * tails[k][1] < probability

        return Measured(self, self._first(rarer))


class Measured:
    """The probabilities of the event above an outcome and of the event from it on, between rationals."""

    def __init__(self, side: Side, place: int) -> None:
        self.side, self.place = side, place
        chance, rest = side.chance, 1 - side.chance
        places = range(max(place - 1, 0), min(place + 1, side.unknown) + 1)
        tails = noisy_binomial_tails(side.unknown - 1, chance, side.ratio, places)

        def sides(k: int) -> tuple[Fraction, Fraction, Fraction, Fraction]:
            if k <= 0 or k > side.unknown:
                known = Fraction(int(k <= 0))
                return known, known, known, known
            (near, near_up), (far, far_up) = tails[k - 1], tails[k]
            return near, near_up, chance * near + rest * far, chance * near_up + rest * far_up

        self.own, self.own_up, self.any, self.any_up = sides(place + 1)
        self.wide_own, self.wide_own_up, self.wide, self.wide_up = sides(place)
        own, mass = self.wide_own - self.own_up, self.wide - self.any_up
        self.slope = Fraction(math.floor(own / mass * _GRID), _GRID) if own > 0 < mass else Fraction(0)

    @property
    def mark(self) -> tuple[Fraction, int]:
        """What a certificate keeps: s, and the outcome where P(y|x) - s P(y) changes its sign."""
        return self.slope, self.place

    @property
    def above(self) -> Fraction:
        """H(s), rounded up."""
        narrow = self.own_up - self.slope * self.any
        return max(Fraction(0), narrow, self.wide_own_up - self.slope * self.wide)

    def probability(self, lift: Fraction) -> Fraction:
        """The probability of an event of such a lift, rounded down."""
        if self.own < lift * self.any_up:
            return Fraction(0)
        own, mass = self.wide_own - self.own_up, self.wide_up - self.any
        lack = lift * mass - own
        share = min(Fraction(1), (self.own - lift * self.any_up) / lack) if lack > 0 else Fraction(1)
        return self.any + share * max(Fraction(0), self.wide - self.any_up)


class _FloatTail:
    """F(k) = P(S + Z ≥ k) in floats: binomial probabilities within forty deviations, times the tail of the noise."""

    def __init__(self, trials: int, p: float, q: float, ratio: float) -> None:
        middle, reach = round(trials * p), 40 * math.ceil(math.sqrt(trials * p * q) + 10)
        first, last = max(0, middle - reach), min(trials, middle + reach)
        self._places = np.arange(first, last + 1, dtype=np.float64)
        with np.errstate(divide="ignore"):
            steps = np.log((trials - self._places[:-1]) / (self._places[:-1] + 1)) + np.log(p) - np.log(q)
        # From the mode outwards: what is added up stays small, and so does its rounding.
        centre = middle - first
        logs = np.zeros(len(self._places))
        logs[centre + 1 :] = np.cumsum(steps[centre:])
        logs[:centre] = -np.cumsum(steps[:centre][::-1])[::-1]
        masses = np.exp(logs)
        self._masses = masses / masses.sum()
        self._log_ratio = math.log(ratio) if ratio else -math.inf
        self._share = 1 / (1 + ratio)
        self._known = lru_cache(1 << 16)(self._value)

    def __call__(self, k: int) -> float:
        return self._known(k)

    def _value(self, k: int) -> float:
        border = int(np.searchsorted(self._places, k, side="right" if self._share < 1 else "left"))
        above = float(self._masses[border:][::-1].sum())
        if self._share == 1:
            return above
        reach = math.ceil(_FAINT / -self._log_ratio)  # the noise hardly ever goes further
        below, beyond = slice(max(0, border - reach), border), slice(border, border + reach)
        near = self._masses[below] @ np.exp((k - self._places[below]) * self._log_ratio)
        far = self._masses[beyond] @ np.exp((1 + self._places[beyond] - k) * self._log_ratio)
        return max(0.0, above + float(near - far) * self._share)


def _top(sides: list[Side]) -> Fraction | None:
    tops = [side.top for side in sides]
    return None if None in tops else max(top for top in tops if top is not None)


def _at_most(top: Fraction | None, values: int, delta: Fraction) -> float:
    """A lift that events of probability delta do not exceed: the largest of all, or by Markov's inequality."""
    high = math.inf if top is None else float_above(top)
    return high if math.isfinite(high) else 2 * float_above(values / delta)


def proven_lift(sides: list[Side], delta: Fraction) -> tuple[Fraction | None, list[Measured]]:
    """Return a lift that is exceeded with probability at most delta, and the events at which it is found.

    None is no bound: no noise, and a value that may be as rare as it likes.
    """
    top = _top(sides)
    if top is None and delta < TOO_RARE:
        return None, []
    high = _at_most(top, len(sides), delta)
    found = [side.measured(share) for side, share in zip(sides, _shares(sides, delta, high), strict=True)]
    heights = [(one.side.top, one.slope, one.above) for one in found]

    def holds(t: float) -> bool:
        lift, total = Fraction(t), Fraction(0)
        for most, slope, above in heights:
            if most is None or most > lift:
                if slope >= lift:
                    return False
                total += above / (lift - slope)
        return total <= delta

    if math.isinf(high):  # beyond all floats
        return top, found
    lift = Fraction(last_that_holds(holds, high, 1.0))
    return lift if top is None else min(lift, top), found


def _shares(sides: list[Side], delta: Fraction, high: float) -> list[Fraction]:
    """The probabilities of the events, one for each value, that together have the largest lift, about."""
    if delta < TOO_RARE:
        return [delta] * len(sides)  # twice as much of so little changes next to nothing
    small = float(delta)
    lift = last_that_holds(
        lambda t: sum(side.probability(t) for side in sides) <= small, math.nextafter(high, math.inf), 1.0
    )
    # Where a probability jumps at the lift, or lifts are all but equal, what is missing comes from those that jump.
    above, below = ([side.probability(lift * (1 + step)) for side in sides] for step in (1e-12, -1e-12))
    jump = sum(below) - sum(above)
    mix = min(1.0, max(0.0, (small - sum(above)) / jump)) if jump > 0 else 0.0
    return [Fraction(high + mix * (low - high)) for high, low in zip(above, below, strict=True)]


def attained_lift(found: list[Measured], delta: Fraction) -> Fraction:
    """Return a lift, at least 1, that events of the probability delta have, or that is approached; rounded down."""

    def reached(t: float) -> bool:
        lift = Fraction(t)
        return sum((one.probability(lift) for one in found), Fraction(0)) >= delta

    tops = [one.side.top for one in found]
    if not delta or not found:
        return max((top or Fraction(1) for top in tops), default=Fraction(1))
    high = _at_most(_top([one.side for one in found]), len(found), delta)
    return Fraction(last_that_holds(reached, 1.0, min(math.nextafter(high, math.inf), _LARGEST)))
