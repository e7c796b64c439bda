"""The least lift for priors by stratum: margins of all rows together, of every stratum, or of their differences.

Strata have mechanisms of their own, each the best for the worst of what is to be known there. For all rows together the
variances within strata add up by their shares, with the one between strata. That less does not suffice follows from the
bounds of single strata with common shares w of the contrasts: the largest variance of all is at least Σ_s a_s b_s(w).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.alphabet import Label
from leakwise.errors import InvalidInput, did_you_mean
from leakwise.optimize.bounds.largest_variance import weighted_bound
from leakwise.optimize.least_lift import LimitsAt, at_lift, first_lift, least_lift, refuse_beside_margin
from leakwise.optimize.margin_result import StratifiedMarginDesign
from leakwise.optimize.problem.margins import Margins, asked_margins, checked_rows, pooled_variances
from leakwise.optimize.problem.requested_cone import constraint_cone
from leakwise.optimize.problem.utility import with_mass
from leakwise.optimize.search.limits import Limits
from leakwise.optimize.stratified_result import StratifiedDesign
from leakwise.priors import Prior, PriorByStratum
from leakwise.proof import AskedLimits, asked_limits
from leakwise.types import Floats

__all__ = ["at_least_lift", "one_percent_less"]

_OF_THE_GOAL = ("margin", "rows", "values", "of", "utility")
_OF = ("table", "groups", "differences")
_MOST = 1e6  # a larger lift limits nothing
_ASCENTS = 12
_CORRECTIONS, _POWER, _LEAST_SHARE = 3, 3.0, 2e-3
_HALVINGS = 9
_STRATA = 64  # up to so many strata are bounded together

Designing = Callable[[AskedLimits, Margins], StratifiedDesign]


def at_least_lift(
    designing: Callable[[dict[str, Any]], StratifiedDesign], priors: PriorByStratum, given: dict[str, Any]
) -> StratifiedMarginDesign:
    """Return the design of least lift for the arguments of a design with a margin."""
    limits = tuple(inspect.signature(asked_limits).parameters)
    asked = asked_limits(**{name: value for name, value in given.items() if name in limits})
    refuse_beside_margin(asked, given.get("utility", "frequencies"), bool(given.get("keep_frequencies")))
    goal = (given["margin"], given.get("rows"), given.get("values"), given.get("of") or "table")
    others = {name: value for name, value in given.items() if name not in (*limits, *_OF_THE_GOAL)}

    def at(limit: AskedLimits, utility: Margins) -> StratifiedDesign:
        return designing({**others, "epsilon": limit, "utility": utility})

    return _margin_by_stratum(priors, goal, at_lift(asked), at, Limits(seconds=given.get("time_limit")))


def _margin_by_stratum(
    priors: PriorByStratum, goal: tuple[Any, Any, Any, Any], limits_at: LimitsAt, designing: Designing, limits: Limits
) -> StratifiedMarginDesign:
    """Return the design of least lift; ``goal`` are margin, rows (also by stratum), values, and what they are of."""
    margin, rows, values, of = goal
    if of not in _OF:
        raise InvalidInput(f"of must be one of {', '.join(_OF)}. Got {of!r} instead.{did_you_mean(of, _OF)}")
    problem = _Problem(priors, margin, rows, values, of)

    def attempt(lift: float) -> _Attempt:
        asked = limits_at(lift)
        tried = [designing(asked, problem.goal)]
        # Strata that serve one purpose together do it best with common shares of what is to be known.
        shares = problem.shares_at(tried[0], asked, limits) if of != "groups" else None
        for _ in range(_CORRECTIONS):
            if shares is None:
                break
            tried.append(designing(asked, problem.weighed(shares)))
            each = problem.worst(tried[-1])[1]
            shares = _normal(shares * (each / each.max()) ** _POWER)
        best = min(tried, key=lambda one: problem.worst(one)[0])
        return _Attempt(best, -problem.worst(best)[0])

    tried, lift = least_lift(attempt, problem.first, _MOST, problem.goal.rows)
    found: StratifiedDesign = tried.found
    return _told(problem, found, lift, problem.proven(found, lift, limits_at, limits))


def one_percent_less(
    found: StratifiedDesign,
    priors: PriorByStratum,
    goal: tuple[Any, Any, Any],
    limits_at: LimitsAt,
    lift: float,
    limits: Limits,
) -> StratifiedMarginDesign:
    """Return a design that meets margins of all rows together, with the proof that 1% less does not, if there is one.

    ``goal`` are margin, rows by stratum, and values. Strata without rows do not count.
    """
    margin, rows, values = goal
    here = [key for key in priors if rows[key]]
    columns = dict(zip(priors.given, priors.given_columns.domains, strict=True))
    weights = {key: priors.weights[key] for key in here}
    kept = PriorByStratum({key: priors[key] for key in here}, columns, weights, secret=priors.secret)
    problem = _Problem(kept, margin, {key: rows[key] for key in here}, values, "table")
    less = lift / 1.01
    return _told(problem, found, lift, less if problem.too_small(found, limits_at(less), limits) else 1.0)


def _told(problem: _Problem, found: StratifiedDesign, lift: float, lower: float) -> StratifiedMarginDesign:
    """What was found, with a lift up to which nothing suffices."""
    told = problem.worst(found)[1]
    names = {"table": "{}", "groups": "{}, each group", "differences": "{}, difference"}
    widths = {
        names[problem.of].format(one.name): one.half_width * math.sqrt(float(value))
        for one, value in zip(problem.goal.margins, told, strict=True)
        if one.stated
    }
    fields = {
        name: getattr(found, name) for name in ("mechanism", "certificate", "prior", "strata", "constraint", "others")
    }
    return StratifiedMarginDesign(
        **fields, utility="margin", lift=lift, lower=lower, half_widths=widths, margins=problem.goal
    )


@dataclass(frozen=True)
class _Attempt:
    found: StratifiedDesign
    value: float


class _Problem:
    """What is to be known, from how many rows of each stratum."""

    def __init__(self, priors: PriorByStratum, margin: Any, rows: Any, values: Any, of: str) -> None:
        self.priors, self.of, self.keys = priors, of, list(priors)
        self.rows = _by_stratum(priors, rows)
        total = sum(self.rows.values())
        self.shares = np.array([self.rows[key] / total for key in self.keys])
        known = Prior.from_integers(priors.alphabet, _mixed(priors, self.rows))
        self.goal = asked_margins(known, margin, round(total), values, alone=of == "table")
        # The secret itself, at the priors: what not even a release of the column as it is would leave.
        itself = np.array([self._itself(priors[key].nominal) for key in self.keys])
        self.between = self._between() if of == "table" else np.zeros(len(self.goal.margins))
        least, _, place = self._largest(itself)
        if least >= 1:
            raise InvalidInput(
                f"margin cannot be met from {round(total):,} rows{self._where(place)}: even the column as it is would "
                f"leave more. {math.floor(total * least) + 1:,} rows would do without any protection, and more are "
                "needed with it; or give a larger margin."
            )

    @property
    def first(self) -> float:
        """About the least lift."""
        scale = 1.0 if self.of == "table" else float((1 / self.shares).max())
        return 1 + (first_lift(self.goal, self.priors.marginal) - 1) * scale

    def worst(self, found: StratifiedDesign) -> tuple[float, Floats]:
        """Return the largest variance of a design, in units of what is allowed, and that of each margin."""
        return self._largest(self._each(found))[:2]

    def proven(self, found: StratifiedDesign, lift: float, limits_at: LimitsAt, limits: Limits) -> float:
        """Return a lift up to which nothing suffices; 1 where the priors are not known, or the strata too many."""
        if not self.known:
            return 1.0
        terms = self._terms(self._each(found))
        shares = np.full(len(self.goal.margins), 1 / len(self.goal.margins))
        best, low, high = 1.0, 1.0, lift
        for step in range(_HALVINGS):
            middle = 1 + (lift - 1) * (0.99 if not step else (low + high - 2) / 2 / (lift - 1))
            ascents = _ASCENTS if not step else 3
            value, shares = self._bounded(terms, limits_at(middle), shares, limits, ascents, enough=1.0)
            if value > 1:
                best = low = middle
                if not step:
                    break
            else:
                high = middle
            if limits.exhausted:
                break
        return best

    def too_small(self, found: StratifiedDesign, asked: AskedLimits, limits: Limits) -> bool:
        """Return whether nothing within limits is shown to suffice."""
        even = np.full(len(self.goal.margins), 1 / len(self.goal.margins))
        terms = self._terms(self._each(found))
        return self.known and self._bounded(terms, asked, even, limits, _ASCENTS, enough=1.0)[0] > 1

    @property
    def known(self) -> bool:
        """Whether the priors are known, and of so few strata that they are bounded together."""
        return len(self.keys) <= _STRATA and all(isinstance(self.priors[key], Prior) for key in self.keys)

    def weighed(self, shares: Floats) -> Margins:
        """Return the utility that weighs what is to be known by shares."""
        return Margins(self.goal.margins, self.goal.rows, shares)

    def shares_at(self, found: StratifiedDesign, asked: AskedLimits, limits: Limits) -> Floats | None:
        """Return shares that bound what is largest as well as any, at some limits; None where they are not sought."""
        if not self.known:
            return None
        even = np.full(len(self.goal.margins), 1 / len(self.goal.margins))
        return _normal(self._bounded(self._terms(self._each(found)), asked, even, limits, _ASCENTS)[1])

    def _each(self, found: StratifiedDesign) -> Floats:
        """The variances of each stratum, in units of what is allowed for all rows."""
        parts = [(found.mechanism[key], self.priors[key].nominal, 1.0) for key in self.keys]
        return np.array([pooled_variances(self.goal, [part]) for part in parts])

    def _bounded(
        self,
        terms: Mapping[int, float],
        asked: AskedLimits,
        shares: Floats,
        limits: Limits,
        ascents: int,
        enough: float = math.inf,
    ) -> tuple[float, Floats]:
        """A number below what is largest of all mechanisms within limits, and shares of the contrasts that show it."""
        best, kept = -math.inf, shares
        problems = []
        for place, weight in terms.items():
            prior = self.priors[self.keys[place]].nominal
            if prior.support.sum() > 1:
                known = with_mass(prior)
                problems.append(
                    (constraint_cone(known, asked), self.goal.on_support(prior).contrasts_at(known), weight)
                )
        for _ in range(ascents):
            value, slope = float(shares @ self.between), self.between.copy()
            for cone, contrasts, weight in problems:
                assert contrasts is not None
                bound, rise = weighted_bound(cone, contrasts, shares, limits)
                value, slope = value + weight * bound, slope + weight * rise
            if value > best:
                best, kept = value, shares
            if best > enough or limits.exhausted:
                break
            shares = _normal(shares * np.clip(slope / max(float(shares @ slope), 1e-300), 0.05, 20.0), 1e-12)
        return best, kept

    def _terms(self, each: Floats) -> dict[int, float]:
        """The strata that a bound is made of, each with what its variance counts for."""
        scaled = each / self.shares[:, None]
        if self.of == "table":
            return dict(enumerate(self.shares.tolist()))
        worst = scaled[:, int(self._largest(each)[1].argmax())]
        places = np.argsort(-worst, kind="stable")[: 1 if self.of == "groups" else 2].tolist()
        return {place: float(1 / self.shares[place]) for place in places}

    def _largest(self, each: Floats) -> tuple[float, Floats, int]:
        """The largest variance, that of each margin, and the stratum that is worst, from those of single strata."""
        scaled = each / self.shares[:, None]
        if self.of == "table":
            of_each: Floats = self.shares @ each + self.between
        elif self.of == "groups" or len(each) == 1:
            of_each = scaled.max(axis=0)
        else:
            of_each = np.sort(scaled, axis=0)[-2:].sum(axis=0)
        return float(of_each.max()), of_each, int(scaled[:, int(of_each.argmax())].argmax())

    def _itself(self, prior: Prior) -> Floats:
        centred = self.goal.contrasts - prior.probabilities @ self.goal.contrasts
        variances: Floats = prior.probabilities @ centred**2
        return variances

    def _between(self) -> Floats:
        means = np.array([self.priors[key].nominal.probabilities @ self.goal.contrasts for key in self.keys])
        between: Floats = np.maximum(self.shares @ means**2 - (self.shares @ means) ** 2, 0.0)
        return between

    def _where(self, place: int) -> str:
        if self.of == "table":
            return ""
        key = self.keys[place]
        return f" ({self.rows[key]:,.0f} of them where {self.priors.given_columns.described(key)})"


def _by_stratum(priors: PriorByStratum, rows: Any) -> dict[Label, float]:
    """The rows of each stratum: given, or shared out by the weights of the strata."""
    if not isinstance(rows, Mapping):
        total = checked_rows(rows)
        return {key: float(total * priors.weights[key]) for key in priors}
    found = {priors.given_columns.stratum(key): checked_rows(count) for key, count in rows.items()}
    if set(found) != set(priors):
        raise InvalidInput(
            f"rows must be one number, or one for each stratum ({', '.join(map(str, priors))}). Got rows of "
            f"{', '.join(map(str, found))}."
        )
    return {key: float(found[key]) for key in priors}


def _mixed(priors: PriorByStratum, rows: Mapping[Label, float]) -> list[int]:
    """The frequencies of all rows together, in whole parts."""
    total = sum(rows.values())
    mixture = sum(rows[key] / total * priors[key].nominal.probabilities for key in priors)
    return [math.ceil(mass * 2**40) for mass in np.asarray(mixture).tolist()]


def _normal(shares: Floats, least: float = _LEAST_SHARE) -> Floats:
    """Shares that add up to one, none of them next to nothing."""
    shares = np.maximum(shares / shares.sum(), least)
    normal: Floats = shares / shares.sum()
    return normal
