"""The rows of a comparison: designs, families brought to the same leakage or utility, mechanisms as they are."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from leakwise.errors import Infeasible, InvalidInput, LeakwiseWarning
from leakwise.exact import Level, last_that_holds, level
from leakwise.guarantee import at_least, at_most, lift_above
from leakwise.leakage import envelope, ldp, maximal_leakage
from leakwise.leakage import epsilon as pml_epsilon
from leakwise.leakage.measures.arguments import checked_delta
from leakwise.leakage.measures.differential import ldp_ratio
from leakwise.mechanism import Composition, Mechanism, SetMechanism, identity
from leakwise.mechanism.mechanism import align_prior
from leakwise.optimize.comparison.families import Family, Reached, at_leakage, at_utility
from leakwise.optimize.comparison.result import Compared, MechanismComparison
from leakwise.optimize.comparison.sets import bounded_frequencies
from leakwise.optimize.comparison.value import utility as worth_of
from leakwise.optimize.design import design
from leakwise.optimize.design_result import Design
from leakwise.optimize.problem.utility import Utility
from leakwise.optimize.search.limits import Progress
from leakwise.optimize.worst_case.comparison import local_epsilon
from leakwise.priors import PriorSet
from leakwise.proof import certify

__all__ = ["SideBySide"]

_NEAR = 1e-4  # of the least ε of a design: each step is a design of its own
_LARGEST = 32.0
_ROUNDED = 1e-11


@dataclass
class SideBySide:
    """One comparison: what is asked, and what has to be said beside the table."""

    prior: PriorSet
    goals: list[Utility]
    at: str
    delta: object
    designs: bool
    time_limit: float | None
    optional: bool = False  # mechanisms that do not fit are left out, and named
    progress: Progress | None = None
    remarks: list[str] = field(default_factory=list)

    # -- the two ways -------------------------------------------------------------------------------------------

    def at_equal_leakage(self, given: dict[str, Mechanism | Family], asked: Level | None) -> MechanismComparison:
        given = self._all_fitting(given)
        limit = asked or self._largest([one for one in given.values() if isinstance(one, Mechanism)])
        common = "As given, leaking no more than" if asked is None else "At equal leakage,"
        words = "As given" if limit is None else f"{common} {self._leakage_words(limit)}"
        rows, bounds = [], {}
        if self.designs and limit is not None:
            for goal in self.goals:
                found = self._designed(goal, limit)
                bounds[goal.name] = found.bound
                rows.append(self._row(f"design for {goal.name}", "design", found.mechanism))
        for name, one in given.items():
            if isinstance(one, Family):
                assert limit is not None
                reached = self._reached(at_leakage, self._over(one), self.leakage, limit.epsilon, self._start(limit))
                rows += self._rows(name, reached)
            else:
                rows.append(self._row(name, "mechanism", one))
                if limit is not None and not limit.allows(self._ratio(one) or Fraction(1 << 4096)):
                    self.remarks.append(f"{name} leaks more than the others may: it is compared as it is.")
        first = self.goals[0].name
        rows.sort(key=lambda row: -_ordered(row.values[first]))
        return self._result(rows, words, "leakage" if asked is not None else None, bounds)

    def at_equal_utility(
        self, given: dict[str, Mechanism | Family], goal: Utility, value: float
    ) -> MechanismComparison:
        given = self._all_fitting(given)
        most = worth_of(identity(self.prior.alphabet), self.prior, goal)
        if not goal.said and value > most + _ROUNDED * max(1.0, abs(most)):
            raise Infeasible(
                f"No mechanism reaches value={value:g} of {goal.name}: the secret itself reaches {at_most(most, 6)}. "
                "Require less.",
                witness=most,
            )
        if not goal.said:
            value = min(value, most)  # which was rounded down
        rows, least = [], None
        if self.designs:
            reached, least = self._least_design(goal, value)
            rows += self._rows(f"design for {goal.name}", reached, "design")
        for name, one in given.items():
            if isinstance(one, Family):
                found = self._reached(at_utility, self._over(one), lambda made: self.worth(made, goal), value)
                if found is None:
                    self.remarks.append(f"{name} does not reach it.")
                rows += self._rows(name, found)
            else:
                rows.append(self._row(name, "mechanism", one))
        rows.sort(key=lambda row: row.epsilon if self.at == "pml" else row.ldp)
        words = f"At equal utility, {goal.name} of at least {at_least(value, 6)}"
        if least:
            whom = "for the prior" if self.at == "pml" else "of local differential privacy"
            self.remarks.insert(0, f"No mechanism reaches it with an ε {whom} of {at_least(least, 4)} or less.")
        return self._result(rows, words, "utility", {})

    # -- designs ------------------------------------------------------------------------------------------------

    def _designed(self, goal: Utility, limit: Level | float) -> Design:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", LeakwiseWarning)
            limits: dict[str, Any] = {"epsilon": limit} if self.at == "pml" else {"ldp": limit}
            found = design(self.prior, utility=goal, time_limit=self.time_limit, progress=self.progress, **limits)
        for warning in told:
            if not issubclass(warning.category, LeakwiseWarning):
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
            elif (words := f"design for {goal.name}: {warning.message}") not in self.remarks:
                self.remarks.append(words)
        return found

    def _least_design(self, goal: Utility, value: float) -> tuple[Reached | None, float | None]:
        """The design of least ε that reaches a value, and the largest ε that was proven not to suffice."""
        seen: dict[float, Design] = {}

        def holds(limit: float) -> bool:
            seen[limit] = self._designed(goal, limit)
            return seen[limit].value >= value

        low, high = 0.0, 1.0
        while not holds(high):
            if high >= _LARGEST:
                self.remarks.append(f"No design for {goal.name} that was found reaches it.")
                return None, high if seen[high].bound < value else None
            low, high = high, min(2 * high, _LARGEST)
        found = last_that_holds(holds, high, low, 60, within=_NEAR)
        short = [limit for limit, one in seen.items() if one.bound < value]
        return Reached(seen[found].mechanism, found), max(short, default=None)

    # -- families -----------------------------------------------------------------------------------------------

    def _start(self, asked: Level) -> float:
        """An ε at which every mechanism with that local differential privacy keeps the limit ([WC] Proposition 1)."""
        one = self.prior is self.prior.nominal
        return local_epsilon(self.prior.nominal, asked) if self.at == "pml" and one else asked.epsilon

    def _reached(self, look: Callable[..., Reached | None], *given: Any) -> Reached | None:
        try:
            return look(*given)
        except InvalidInput as error:
            if not self.optional:
                raise
            self.remarks.append(f"Left out: {error}")
            return None

    # -- rows ---------------------------------------------------------------------------------------------------

    def leakage(self, mechanism: Mechanism) -> float:
        """Return the leakage that is compared."""
        return ldp(mechanism) if self.at == "ldp" else float(pml_epsilon(mechanism, self.prior))

    def worth(self, mechanism: Mechanism, goal: Utility) -> float:
        """Return what a mechanism is worth."""
        return worth_of(mechanism, self.prior, goal)

    def _fitting(self, name: str, mechanism: Mechanism) -> Mechanism:
        try:
            align_prior(self.prior, mechanism)
        except InvalidInput as error:
            raise InvalidInput(f"mechanisms[{name!r}]: {error}") from error
        return mechanism

    def _all_fitting(self, given: dict[str, Mechanism | Family]) -> dict[str, Mechanism | Family]:
        """Return what is compared; a mechanism over other values than the prior's is refused by its name."""
        return {name: self._fitting(name, one) if isinstance(one, Mechanism) else one for name, one in given.items()}

    def _over(self, family: Family) -> Family:
        """The family, whose mechanisms must be over the values of the prior."""
        return Family(family.name, lambda epsilon: self._fitting(family.name, family(epsilon)))

    def _rows(self, name: str, reached: Reached | None, kind: str = "family") -> list[Compared]:
        if reached is None:
            return []
        if reached.remark is not None:
            self.remarks.append(f"{name} {reached.remark}.")
        return [self._row(name, kind, reached.mechanism, reached.parameter)]

    def _row(self, name: str, kind: str, mechanism: Mechanism, parameter: float | None = None) -> Compared:
        if _not_listed(mechanism):
            leaked = float(pml_epsilon(mechanism, self.prior))
            ratio = float(lift_above(leaked))
        else:
            proof = certify(mechanism, self.prior)
            leaked, ratio = proof.epsilon_upper, proof.largest_lift
        return Compared(
            name,
            kind,
            mechanism,
            parameter,
            leaked,
            ratio,
            ldp(mechanism),
            maximal_leakage(mechanism, self.prior),
            self._envelope(name, mechanism),
            {goal.name: self._value(name, mechanism, goal) for goal in self.goals},
        )

    def _envelope(self, name: str, mechanism: Mechanism) -> float | None:
        if self.delta is None:
            return None
        delta = checked_delta(self.delta)
        try:
            found = envelope(mechanism, self.prior, delta)
        except InvalidInput as error:
            self.remarks.append(f"{name}, envelope: {error}")
            return None
        return float(found.upper if found.epsilon is None else found.epsilon)

    def _value(self, name: str, mechanism: Mechanism, goal: Utility) -> float | None:
        try:
            return self.worth(mechanism, goal)
        except InvalidInput as error:
            self.remarks.append(f"{name}, {goal.name}: {error}")
            return None

    def _largest(self, mechanisms: list[Mechanism]) -> Level | None:
        """The largest leakage of mechanisms as they are, exact; None where it is not limited."""
        ratios = [self._ratio(one) for one in mechanisms]
        known = [one for one in ratios if one is not None]
        return level(lift=max(known)) if known and len(known) == len(ratios) else None

    def _ratio(self, mechanism: Mechanism) -> Fraction | None:
        if _not_listed(mechanism):
            ratio = lift_above(self.leakage(mechanism))
            return ratio if isinstance(ratio, Fraction) else None
        return ldp_ratio(mechanism) if self.at == "ldp" else certify(mechanism, self.prior).ratio

    def _leakage_words(self, limit: Level) -> str:
        whom = "for anyone who knew the prior" if self.at == "pml" else "for anyone, whatever they knew"
        return f"lift {at_most(limit.shown)} {whom} (ε {at_most(limit.epsilon)})"

    def _result(
        self, rows: list[Compared], words: str, equal: str | None, bounds: dict[str, float]
    ) -> MechanismComparison:
        if not rows:
            raise InvalidInput(" ".join(["There is nothing to compare.", *self.remarks]))
        self._say_what_is_bounded(rows, equal)
        best = max((_ordered(row.values.get("frequencies")) for row in rows), default=-math.inf)
        told = tuple(row.beside(best) for row in rows)
        names = tuple(goal.name for goal in self.goals)
        return MechanismComparison(told, names, equal, words, bounds, tuple(self.remarks), self.prior)

    def _say_what_is_bounded(self, rows: list[Compared], equal: str | None) -> None:
        """Remark whose frequencies are known from below only."""
        sets = [row.shown for row in rows if bounded_frequencies(row.mechanism, self.prior)]
        if sets and any(goal.name == "frequencies" for goal in self.goals):
            smaller = ", and a smaller ε may do" if equal == "utility" else ""
            self.remarks.append(
                f"Too many outcomes to list: {', '.join(sets)}. The frequencies are at least as accurate as "
                f"shown{smaller}."
            )


def _not_listed(mechanism: Mechanism) -> bool:
    """Whether there are too many outcomes to list, and so to certify."""
    return isinstance(mechanism, SetMechanism) or (isinstance(mechanism, Composition) and not mechanism.enumerable)


def _ordered(value: float | None) -> float:
    return -math.inf if value is None else value
