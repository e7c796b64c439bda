"""How accurately something must be known, as a utility: minus the largest variance, in units of what margins allow.

A margin is the half-width of the interval that an estimate from so many rows has. The rows are a sample of the
population, so that the interval holds the noise of the mechanism and that of sampling: from m rows c·p̂ has the variance
(cᵀJ⁻¹c - (c·π)²)/m, and a margin of h allows m·h²/z² for one row, with z = 1.959964 for 95%.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np

from leakwise.alphabet import Label
from leakwise.errors import InvalidInput, did_you_mean
from leakwise.exact import exact_fraction
from leakwise.mechanism import Kernel, Mechanism
from leakwise.optimize.problem.utilities import LITTLE, Frequencies, inverses, to_eleven_digits
from leakwise.optimize.problem.utility import seen
from leakwise.priors import Prior, PriorSet
from leakwise.proof import OptimalityClaim
from leakwise.types import Floats, Indices

__all__ = ["Margin", "Margins", "asked_margins", "checked_rows", "pooled_half_widths", "pooled_variances"]

Z = NormalDist().inv_cdf(0.975)
# Of what no margin is stated for, the frequencies stay estimable: within so many times the margin.
_ROUGHLY = 100


@dataclass(frozen=True)
class Margin:
    """Something that is to be known within a half-width: a frequency, or the mean of numbers."""

    name: str
    coefficients: tuple[float, ...]  # one for each value: c·p̂ is what is estimated
    half_width: float
    stated: bool = True  # by the user, not only so that every frequency can be estimated


class Margins(Frequencies):
    """Minus the largest variance of what is to be known, in units of what its margin allows: -1 or more is enough.

    With ``shares``, minus the variances weighed by them: for strata that are to serve one purpose together.
    """

    name = "margin"

    def __init__(self, margins: tuple[Margin, ...], rows: float, shares: Floats | None = None) -> None:
        super().__init__()
        self.margins, self.rows, self.shares = margins, rows, shares
        units = [Z / (math.sqrt(rows) * one.half_width) for one in margins]
        # Numbers far from zero are as well known from where they begin: only what they differ by is to be added up.
        coefficients = np.array([one.coefficients for one in margins])
        self.contrasts: Floats = (coefficients - coefficients.min(axis=1, keepdims=True)).T * units

    def contrasts_at(self, prior: Prior) -> Floats | None:
        centred: Floats = self.contrasts - prior.probabilities @ self.contrasts
        return centred

    def closed_forms(self, prior: Prior) -> bool:
        return False

    def variances(self, lifts: Floats, law: Floats, prior: Prior) -> tuple[Floats, Floats]:
        """Return the variance of each contrast, and what it may be above that."""
        p = prior.probabilities
        centred = self.contrasts_at(prior)
        assert centred is not None
        off = np.abs(self.contrasts).max(axis=0) * (len(p) + 8) * 2.0**-49
        best, more = np.full(centred.shape[1], math.inf), np.zeros(centred.shape[1])
        for scale, inverse, miss in inverses(lifts, law, p):
            if not math.isfinite(miss):
                continue
            half = scale[:, None] * centred
            found = np.einsum("ij,ij->j", half, inverse @ half)
            blurred = off * math.sqrt(len(p) * (float(np.linalg.norm(inverse)) + miss))
            lost = miss * np.einsum("ij,ij->j", half, half) + (2 * np.sqrt(found) + blurred) * blurred
            lost += found * (len(p) + 16) * 2.0**-48
            better = found + lost < best + more
            best, more = np.where(better, found, best), np.where(better, lost, more)
            if (more < LITTLE * best).all():
                break
        return best, more

    def _total(self, variances: Floats) -> float:
        return float(variances.max() if self.shares is None else self.shares @ variances)

    def value(self, lifts: Floats, law: Floats, prior: Prior) -> float:
        return -self._total(self.variances(lifts, law, prior)[0])

    def interval(self, kernel: Kernel, prior: Prior, says: Indices | None = None) -> tuple[float, float]:
        found, lost = self.variances(*seen(kernel, prior), prior)
        return to_eleven_digits(-self._total(found + lost)), -self._total(found - lost)

    def half_widths(self, mechanism: Mechanism, prior: Prior) -> list[float]:
        """Return the half-width that each margin gets, rounded up."""
        return pooled_half_widths(self, [(mechanism, prior, 1.0)])

    @property
    def words(self) -> dict[str, str]:
        """What is to be known, in the words of a report."""
        stated = [one for one in self.margins if one.stated]
        alike = len({one.half_width for one in stated}) == 1 and len(stated) == len(self.margins)
        each = [f"{one.name} within {one.half_width:g}" for one in stated]
        told = f"every frequency within {stated[0].half_width:g}" if alike else ", ".join(each)
        return {"asked of it": f"{told} (95% intervals from {self.rows:,} rows), at the least lift"}

    def most(self, prior: Prior) -> float:
        # The secret itself: J is diag(1/π).
        centred = self.contrasts_at(prior)
        assert centred is not None
        return -self._total(prior.probabilities @ centred**2)

    def on_support(self, prior: Prior) -> Margins:
        if prior.support.all():
            return self
        here = np.flatnonzero(prior.support)
        kept = tuple(
            replace(one, coefficients=tuple(one.coefficients[i] for i in here.tolist())) for one in self.margins
        )
        return Margins(kept, self.rows, self.shares)

    def claim(self, claim: OptimalityClaim, priors: PriorSet) -> tuple[OptimalityClaim | None, str | None]:
        if self.shares is not None:
            return None, "a step on the way to a design"
        if not math.isfinite(claim.value) or not math.isfinite(claim.bound) or not len(claim.duals):
            return None, "its error is not finite, or not proven"
        return replace(claim, utility=self.name, gains=self.contrasts), None


def pooled_half_widths(goal: Margins, parts: Iterable[tuple[Mechanism, Prior, float]]) -> list[float]:
    """Return the half-widths for all rows together, rounded up: from mechanisms, priors and shares of strata."""
    variances = pooled_variances(goal, parts).tolist()
    return [one.half_width * math.sqrt(v) for one, v in zip(goal.margins, variances, strict=True)]


def pooled_variances(goal: Margins, parts: Iterable[tuple[Mechanism, Prior, float]]) -> Floats:
    """Return the variances for all rows together, in units of what margins allow, rounded up.

    The rows of all strata together have the variance within strata, by their shares, and the one between them.
    """
    within = np.zeros(len(goal.margins))
    means, squares = np.zeros(len(goal.margins)), np.zeros(len(goal.margins))
    for mechanism, prior, share in parts:
        here = prior.support
        known = prior if here.all() else prior.reordered(np.flatnonzero(here))
        lifts, law = seen(mechanism.kernel, prior)
        if here.sum() > 1:
            found, lost = goal.on_support(prior).variances(lifts[here], law, known)
            within += share * (found + lost)
        mean = prior.probabilities @ goal.contrasts
        means, squares = means + share * mean, squares + share * mean**2
    variances: Floats = within + np.maximum(squares - means**2, 0.0) + (squares + 1) * 2.0**-40
    return variances


def checked_rows(rows: Any) -> int:
    """Return a number of rows, or refuse what is none."""
    if rows is None:
        raise InvalidInput(
            "rows is missing: a margin is that of an estimate from so many rows. Give rows= (--rows), such as 5000."
        )
    if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 1:
        raise InvalidInput(f"rows must be a positive integer, the number of rows to be released. Got {rows!r} instead.")
    return int(rows)


def asked_margins(prior: Prior, margin: Any, rows: Any, values: Any = None, *, alone: bool = True) -> Margins:
    """Return what is to be known, from a margin for every frequency, a mapping for some, or one for a mean.

    Where one prior is not all there is (not ``alone``), whether the rows are enough is for others to say.
    """
    count = checked_rows(rows)
    here = prior.support.tolist()
    places = [place for place, mass in enumerate(here) if mass]
    if len(places) < 2:
        raise InvalidInput(
            "margin costs no leakage here: the secret has one value only, whose frequency is 1. Nothing needs to be "
            "released to know it."
        )
    single = {place: tuple(float(i == place) for i in range(len(prior))) for place in places}
    margins: list[Margin] = []
    if values is not None:
        numbers = _numbers(prior, values)
        width = _half_width(margin, "the mean", max(numbers) - min(numbers))
        margins.append(Margin("mean", numbers, width))
        rough = _ROUGHLY * width / (max(numbers) - min(numbers))
        rest = places
    elif isinstance(margin, Mapping):
        stated = _stated(prior, margin)
        margins += [Margin(f"frequency of {prior.labels[i]}", single[i], width) for i, width in stated.items()]
        rough, rest = _ROUGHLY * max(stated.values()), [i for i in places if i not in stated]
    else:
        width = _half_width(margin, "every frequency", 1.0)
        margins += [Margin(f"frequency of {prior.labels[i]}", single[i], width) for i in places]
        rough, rest = 0.0, []
    margins += [Margin(f"frequency of {prior.labels[i]}", single[i], rough, stated=False) for i in rest]
    goal = Margins(tuple(margins), count)
    if alone:
        _refuse_unreachable(prior, goal, count)
    return goal


def _half_width(margin: Any, what: str, spread: float) -> float:
    """The margin as a number: positive, and less than what is known without any release."""
    if isinstance(margin, bool | Mapping):
        raise InvalidInput(
            f"margin must be a number, the half-width of the interval of {what}. Got {margin!r} instead."
        )
    width = float(exact_fraction(margin, "margin"))
    if not 0 < width < math.inf:
        raise InvalidInput(f"margin must be above 0, the half-width of the interval of {what}. Got {margin!r} instead.")
    if width >= spread / 2:
        raise InvalidInput(
            f"margin={margin!r} costs no leakage: without any release {what} is within {spread / 2:g} of the middle of "
            f"its range. Give a margin below {spread / 2:g}, or release nothing."
        )
    return width


def _stated(prior: Prior, margin: Mapping[Any, Any]) -> dict[int, float]:
    """The margins of single values, by the places of the values."""
    if not margin:
        raise InvalidInput("margin is an empty mapping. Give a number for every frequency, or a value with its margin.")
    places: dict[Label, int] = {label: place for place, label in enumerate(prior.labels)}
    found = {}
    for label, width in margin.items():
        if label not in places:
            raise InvalidInput(
                f"margin names {label!r}, which is not a value of the prior.{did_you_mean(label, prior.labels)}"
            )
        if not prior.support[places[label]]:
            raise InvalidInput(f"margin names {label!r}, whose probability is 0: its frequency is known.")
        found[places[label]] = _half_width(width, f"the frequency of {label!r}", 1.0)
    return found


def _numbers(prior: Prior, values: Any) -> tuple[float, ...]:
    """The numbers that the values stand for, from a mapping or a list."""
    if isinstance(values, Mapping):
        if (missing := [label for label in prior.labels if label not in values]) or len(values) != len(prior):
            word = f"{missing[0]!r} has none" if missing else "it names others, too"
            raise InvalidInput(f"values must give a number for each value of the prior: {word}.")
        listed = [values[label] for label in prior.labels]
    else:
        listed = list(values)
        if len(listed) != len(prior):
            raise InvalidInput(f"values must give a number for each of the {len(prior)} values. Got {len(listed)}.")
    numbers = tuple(float(exact_fraction(one, "values")) for one in listed)
    here = [number for number, mass in zip(numbers, prior.support.tolist(), strict=True) if mass]
    if not all(map(math.isfinite, numbers)) or min(here) == max(here):
        raise InvalidInput("values must be finite numbers that are not all the same: the mean is known otherwise.")
    return numbers


def _refuse_unreachable(prior: Prior, goal: Margins, rows: int) -> None:
    """Refuse margins that not even the table itself meets, with the rows that would do."""
    known = prior if prior.support.all() else prior.reordered(np.flatnonzero(prior.support))
    here = goal.on_support(prior).contrasts_at(known)
    assert here is not None
    variances = known.probabilities @ here**2
    worst = int(variances.argmax())
    if variances[worst] < 1:
        return
    one, needed = goal.margins[worst], math.floor(Fraction(float(variances[worst])) * rows) + 1
    raise InvalidInput(
        f"margin={one.half_width:g} for the {one.name} cannot be met from {rows:,} rows: even the column as it is "
        f"would leave {one.half_width * math.sqrt(variances[worst]):.3g}. {needed:,} rows would do without any "
        "protection, and more are needed with it; or give a larger margin."
    )
