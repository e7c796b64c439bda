"""The privacy profile: a convex, decreasing, piecewise linear function of t = e^ε.

For two letters, Σ_j (p_xj - t p_x'j)₊ is A - B·t on each piece, with A and B sums over the outcomes of ratio above t.
The profile is the maximum over all pairs. On the integers every value, every corner and the inverse are exact; beyond
SMALL_PAIRS terms floats with a proven bound take over.

Of many releases the integers have thousands of digits. Their logarithms in floats tell where the root is, and which
outcomes count; the integers themselves are compared only where floats cannot tell, and added up.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.charts.specs import lines
from leakwise.errors import InvalidInput
from leakwise.exact import float_above, last_that_holds, level, log_lower, log_upper
from leakwise.guarantee import at_most
from leakwise.leakage.measures.arguments import ULP, checked_delta, wide
from leakwise.mechanism import CommonLawKernel, Mechanism
from leakwise.types import Bools, Floats, Indices

__all__ = ["SMALL_PAIRS", "PrivacyProfile"]

SMALL_PAIRS = 100_000
"""Up to so many terms (letters² × outcomes) the profile is worked out on the integers."""


_FEW = 16
# Integers of more bits are long: what is computed with them is kept short where nothing is lost by it.
_LONG = 1024
_HALVINGS = 60


class _Line(NamedTuple):
    """constant - slope·t, in integers over the kernel's denominator."""

    constant: int
    slope: int

    def at(self, t: Fraction) -> Fraction:
        return self.constant - self.slope * t


class PrivacyProfile(Drawn):
    """δ(ε) of a mechanism, and the least ε for a δ.

    Attributes
    ----------
    mechanism
        The mechanism it belongs to.
    exact
        Whether it is worked out on the integers (up to 100,000 terms, letters² × outcomes, and always for randomized
        response and its kin); otherwise its numbers are rounded up by a proven bound.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        rows, columns = mechanism.shape
        self.mechanism = mechanism
        self._structured = isinstance(mechanism.kernel, CommonLawKernel)
        self.exact = self._structured or rows * rows * columns <= SMALL_PAIRS
        self._weights = wide(mechanism.weights) if self.exact and not self._structured else None

    # -- values -------------------------------------------------------------------------------------------------

    def delta(self, epsilon: object = None, *, lift: object = None) -> float:
        """Return the least δ with (ε, δ)-local differential privacy, never below the truth."""
        asked = level(epsilon, lift)
        if self.exact:
            return float_above(self._value(asked.below))
        return self._float_delta(float(min(asked.below, Fraction(1 << 900))))

    def epsilon(self, delta: object) -> float:
        """The least ε with (ε, δ)-local differential privacy, in nats, never below the truth; infinite if none."""
        allowed = checked_delta(delta)
        factor = self._exact_inverse(allowed) if self.exact else self._float_inverse(float_above(allowed))
        return math.inf if factor is None else log_upper(factor)

    @property
    def limit(self) -> float:
        """δ as ε grows without end: the most that can fall on outcomes which another letter cannot cause."""
        if self.exact:
            return float_above(self._value(self._last_ratio()))
        matrix = self.mechanism.matrix
        lost = float((matrix @ (matrix == 0).astype(np.float64).T).max())
        return min(1.0, lost * (1 + (int(matrix.shape[1]) + 4) * ULP))

    def corners(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Return where the profile changes its slope: pairs (t = e^ε, δ), exact, from t = 1 to where it ends.

        Between two corners δ is linear in t; beyond the last it is constant.
        """
        if not self.exact:
            raise InvalidInput(
                f"The corners are worked out exactly up to {SMALL_PAIRS:,} terms (letters² × outcomes). This "
                f"mechanism is {self.mechanism.shape[0]} × {self.mechanism.shape[1]}: ask for .delta(epsilon) instead."
            )
        end = self._last_ratio()
        found = {Fraction(1): self._value(Fraction(1)), end: self._value(end)}
        open_pieces = [(Fraction(1), end)] if end > 1 else []
        while open_pieces:
            low, high = open_pieces.pop()
            first, last = self._line(low, right=True), self._line(high, right=False)
            if first == last or first.slope == last.slope:
                continue
            # The two supporting lines meet below the function or at a corner of it.
            middle = Fraction(first.constant - last.constant, first.slope - last.slope)
            value = self._value(middle)
            found[middle] = value
            if value != first.at(middle) / self.mechanism.denominator:
                open_pieces += [(low, middle), (middle, high)]
        return _without_straight(sorted(found.items()))

    # -- on the integers ----------------------------------------------------------------------------------------

    def _value(self, t: Fraction) -> Fraction:
        return max(Fraction(0), self._line(t, right=True).at(t) / self.mechanism.denominator)

    def _line(self, t: Fraction, *, right: bool) -> _Line:
        """The line the profile follows to the right (or left) of t."""
        kernel = self.mechanism.kernel
        if isinstance(kernel, CommonLawKernel):
            return _structured_line(kernel, t, right)
        assert self._weights is not None
        up, down = t.numerator, t.denominator
        best: tuple[int, int] | None = None
        line = _Line(0, 0)
        for place, row in enumerate(self._weights):
            counted = self._counted(place, t, right)
            constants = np.where(counted, row, 0).sum(axis=1)
            slopes = np.where(counted, self._weights, 0).sum(axis=1)
            for constant, slope in zip(constants.tolist(), slopes.tolist(), strict=True):
                # Of lines that meet here the flattest is on top to the right, the steepest to the left.
                rank = (constant * down - slope * up, -slope if right else slope)
                if best is None or rank > best:
                    best, line = rank, _Line(constant, slope)
        return line

    def _counted(self, place: int, t: Fraction, right: bool) -> Bools:
        """Which outcomes have a ratio of this letter to others above t (or not below it); letters × outcomes."""
        assert self._weights is not None
        row, up, down = self._weights[place], t.numerator, t.denominator
        if not self._long:
            left, scaled = row * down, self._weights * up
            return np.asarray(left > scaled if right else left >= scaled, dtype=bool)
        # Impossible outcomes have a weight of 0 to add up, whatever is said of them.
        with np.errstate(invalid="ignore"):
            above = self._logs[place] - self._logs - (math.log(up) - math.log(down))
        counted = above > 0
        for other, column in zip(*np.nonzero(np.abs(above) <= self._unsure), strict=True):
            left, scaled = row[column] * down, self._weights[other, column] * up
            counted[other, column] = left > scaled if right else left >= scaled
        return np.asarray(counted, dtype=bool)

    @property
    def _long(self) -> bool:
        return self.mechanism.denominator.bit_length() > _LONG

    @cached_property
    def _logs(self) -> Floats:
        """The logarithms of the probabilities; -∞ for 0."""
        assert self._weights is not None
        scale = math.log(self.mechanism.denominator)
        logs = [math.log(weight) - scale if weight else -math.inf for weight in self._weights.ravel().tolist()]
        return np.array(logs).reshape(self._weights.shape)

    @property
    def _unsure(self) -> float:
        """More than what floats may miss of the logarithm of a ratio, by far."""
        return 1e-12 * (1 + math.log(self.mechanism.denominator))

    def _last_ratio(self) -> Fraction:
        """The largest finite ratio of two entries of a column, where the profile becomes constant."""
        if self._structured:
            line = self._line(Fraction(1), right=True)
            return Fraction(line.constant, line.slope) if line.slope else Fraction(1)
        assert self._weights is not None
        ratios = [Fraction(1)]
        for column in self._weights.T.tolist():
            positive = [weight for weight in column if weight]
            if positive:
                ratios.append(Fraction(max(positive), min(positive)))
        return max(ratios)

    def _exact_inverse(self, delta: Fraction) -> Fraction | None:
        """Newton from the left: tangents of a convex function never pass its root, and there are finitely many.

        Of many releases the integers have thousands of digits, and a root of theirs has as many: such a root is
        rounded up to a short one, beyond what a logarithm in floats can tell apart. Floats find where to begin.
        """
        wanted = delta * self.mechanism.denominator
        t = self._start(delta, wanted)
        while True:
            line = self._line(t, right=True)
            if line.at(t) <= wanted:
                return t
            if line.slope == 0:
                return None
            t = _short_above((line.constant - wanted) / line.slope)

    def _start(self, delta: Fraction, wanted: Fraction) -> Fraction:
        """A factor to the left of the root, near it where the integers are long; 1 where they are not."""
        if self._structured or not self._long:
            return Fraction(1)
        exponent = self._log_inverse(float_above(delta))
        powers = math.floor(exponent / math.log(2))
        near = Fraction(math.exp(exponent - powers * math.log(2))) * (1 << powers) * Fraction(_LONG - 1, _LONG)
        return near if near > 1 and self._line(near, right=True).at(near) > wanted else Fraction(1)

    def _log_inverse(self, delta: float) -> float:
        """About the least ε for a δ, or the largest finite privacy loss if that is less; however large both are."""
        with np.errstate(invalid="ignore"):
            loss = np.nan_to_num(self._logs[:, None] - self._logs, nan=-math.inf, posinf=math.inf, neginf=-math.inf)
        mass = np.exp(self._logs)[:, None]

        def exceeds(epsilon: float) -> bool:
            excess = np.where(loss > epsilon, -np.expm1(np.minimum(epsilon - loss, 0.0)), 0.0)
            return float((mass * excess).sum(axis=2).max()) > delta

        largest = float(loss.max(where=np.isfinite(loss), initial=0.0))
        return last_that_holds(exceeds, 0.0, largest, _HALVINGS)

    # -- in floats ----------------------------------------------------------------------------------------------

    def _float_delta(self, t: float) -> float:
        t *= 1 - 4 * ULP  # below the factor that was meant, whatever its last digits
        constant, slope, error = self._float_line(t)
        return max(0.0, min(1.0, constant - slope * t + error))

    def _float_line(self, t: float, rows: Indices | None = None) -> tuple[float, float, float]:
        """A line that is the largest at t but for rounding (over some letters x only), and a bound on all rounding."""
        matrix = self.mechanism.matrix
        best, line = -1.0, (0.0, 0.0)
        scaled = matrix * t
        for row in matrix if rows is None else matrix[rows]:
            excess = row - scaled
            values = np.maximum(excess, 0.0).sum(axis=1)
            place = int(values.argmax())
            if values[place] > best:
                counted = excess[place] > 0
                best = float(values[place])
                line = (math.fsum(row[counted].tolist()), math.fsum(matrix[place][counted].tolist()))
        # Where a term counts, t·p' ≤ p: each is off by 4 units of p, the sum by one more per outcome, a row sums to 1.
        return line[0], line[1], (matrix.shape[1] + 16) * ULP

    def _float_inverse(self, delta: float) -> Fraction | None:
        """Newton on a few letters first: the root for them is a start from which one look at all mostly suffices."""
        letters = self.mechanism.shape[0]
        few = np.unique(np.linspace(0, letters - 1, _FEW).astype(np.intp))
        start = self._float_newton(delta, 1.0, few)
        found = None if start is None else self._float_newton(delta, start, None)
        return None if found is None else Fraction(found)

    def _float_newton(self, delta: float, t: float, rows: Indices | None) -> float | None:
        nudge = 4 * ULP
        while True:
            constant, slope, error = self._float_line(t, rows)
            if constant - slope * t + error <= delta:
                return t
            if slope * t <= error:  # flat as far as floats can tell
                return None
            t = max((constant + error - delta) / slope, t * (1 + nudge))
            nudge *= 2

    # -- looks --------------------------------------------------------------------------------------------------

    def curve(self, points: int = 60, least_end: float = 0.5) -> tuple[list[float], list[float]]:
        """Pairs (ε, δ) for a picture, to where hardly anything changes; each δ is never below the truth."""
        first, last = self.delta(0), self.limit
        end = self.epsilon(last + (first - last) / 500) if first > last else 0.0
        places = np.linspace(0.0, min(max(end, least_end), 50.0), max(2, points)).tolist()
        if self._structured:
            return places, [self.delta(place) for place in places]
        return places, [self._float_delta(math.exp(place)) for place in places]

    def chart(self) -> dict[str, Any]:
        """The profile as a Vega-Lite specification."""
        return lines(
            {"δ(ε)": self.curve()},
            title="Privacy profile (local differential privacy)",
            x_title="ε (nats)",
            y_title="δ",
        )

    def _shown(self) -> Parts:
        deltas = (0, 1e-9, 1e-6, 1e-3, 0.01, 0.05, 0.1)
        rows = [[delta, at_most(self.epsilon(delta), 6)] for delta in deltas]
        return [Table(["δ", "least ε (nats)"], rows, "Privacy profile", align="ll")]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the exact corners where there are any, and points of the curve."""
        epsilons, deltas = self.curve()
        data: dict[str, Any] = {"exact": self.exact, "epsilon": epsilons, "delta": deltas, "limit": self.limit}
        if self.exact:
            data["corners"] = [
                {"lift": str(t), "epsilon": log_lower(t), "delta": str(value)} for t, value in self.corners()
            ]
        return data


def _structured_line(kernel: CommonLawKernel, t: Fraction, right: bool) -> _Line:
    """A common law plus a diagonal has one line: two letters differ at their own outcomes only."""
    if kernel.shape[0] == 1:
        return _Line(0, 0)
    least = int(kernel.common.min())
    gap = abs(kernel.diagonal)
    # p = c + d against c, or c against c - |d|; the rarest outcome is the worst.
    line = _Line(least + gap, least) if kernel.diagonal >= 0 else _Line(least, least - gap)
    over = line.at(t)
    if over > 0 or (over == 0 and not right):
        return line
    return _Line(0, 0)


def _short_above(factor: Fraction) -> Fraction:
    """The factor itself where it is short; otherwise one above it, by less than a part in 2^200."""
    if factor.denominator.bit_length() <= _LONG:
        return factor
    scale = 1 << max(0, 200 + factor.denominator.bit_length() - factor.numerator.bit_length())
    return Fraction(math.ceil(factor * scale), scale)


def _without_straight(corners: list[tuple[Fraction, Fraction]]) -> tuple[tuple[Fraction, Fraction], ...]:
    """The corners without those where the slope stays the same, or from which on it is 0."""
    kept: list[tuple[Fraction, Fraction]] = []
    for corner in corners:
        while len(kept) >= 2 and _slope(kept[-2], kept[-1]) == _slope(kept[-1], corner):
            kept.pop()
        kept.append(corner)
    if len(kept) >= 2 and kept[-2][1] == kept[-1][1]:
        kept.pop()
    return tuple(kept)


def _slope(left: tuple[Fraction, Fraction], right: tuple[Fraction, Fraction]) -> Fraction:
    return (right[1] - left[1]) / (right[0] - left[0])
