"""Whether a mechanism keeps the limits beyond its largest lift, decided on its integers by code of its own."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from leakwise.alphabet import Alphabet, Label
from leakwise.errors import some_of
from leakwise.exact import Level, log_upper
from leakwise.guarantee import at_least, at_most, percent_at_most
from leakwise.mechanism import Mechanism
from leakwise.priors import PriorSet
from leakwise.proof.limits import AskedLimits
from leakwise.proof.outcomes import name_of_outcome, worst_of_anyone
from leakwise.proof.sets import least_mass_prover
from leakwise.proof.totals import LEAKAGE, SURVIVES, leakage_kept, survives

__all__ = ["FOR_ANYONE", "KeptLimit", "kept_limits"]

FOR_ANYONE = "largest lift for any prior"

Column = list[int]


@dataclass(frozen=True)
class KeptLimit:
    """One limit: what it says of a mechanism that keeps it, whether this one does, and the outcome that decides.

    ``name`` and ``limit`` are for tables, ``found`` is what the mechanism reaches (infinite where it has no bound, None
    where a set of priors has no single number for it).
    """

    name: str
    limit: str
    sentence: str
    kept: bool
    outcome: Label | None
    found: Fraction | float | None = None

    @property
    def excess(self) -> str:
        """By what a limit is missed, in words."""
        reached = "" if self.found is None else f" It is {at_most(self.found)} here."
        if self.name == SURVIVES:
            return f"The {self.name} is to be {self.limit}, of which nothing is proven here."
        if self.outcome is None:
            return f"The {self.name} is to be {self.limit}.{reached}"
        return f"The {self.name} is to be {self.limit}, which the outcome {self.outcome!r} misses.{reached}"


def kept_limits(
    mechanism: Mechanism, priors: PriorSet, limits: AskedLimits, dual: Sequence[Fraction] = ()
) -> Iterator[KeptLimit]:
    """Yield each further limit with whether it is kept; the largest lift itself is the certificate's own matter.

    ``dual`` is the vector that proves what survives post-processing.
    """
    if limits.anyone is not None:
        ratio, place = worst_of_anyone(mechanism)
        yield KeptLimit(
            FOR_ANYONE,
            f"at most {at_most(limits.anyone.shown)}",
            "",  # said in the first sentence of the certificate
            ratio is not None and limits.anyone.allows(ratio),
            name_of_outcome(mechanism, place),
            math.inf if ratio is None else ratio,
        )
    if limits.maximal_leakage is not None:
        kept, limit, said, total = leakage_kept(mechanism.kernel, priors.support, limits.maximal_leakage)
        yield KeptLimit(LEAKAGE, limit, said, kept, None, log_upper(total))
    if limits.envelope is not None:
        kept, limit, said, proven = survives(mechanism, priors, limits.envelope, dual)
        yield KeptLimit(SURVIVES, limit, said, kept, None, proven)
    if limits.lip is None and not limits.by_value:
        return
    letters = mechanism.input_alphabet if mechanism.input_alphabet.declared else priors.alphabet
    columns = _Columns(mechanism, priors, letters)
    if limits.lip is not None:
        yield columns.within(limits.lip)
    for label, most in limits.lift_of:
        yield columns.raised(label, most)
    for values, ceiling in limits.ceiling:
        yield columns.below(values, ceiling)
    for label, least in limits.floor:
        yield columns.lowered(label, least)


class _Columns:
    """The columns of a mechanism as integers, and the least and the greatest mass that a prior gives them."""

    def __init__(self, mechanism: Mechanism, priors: PriorSet, letters: Alphabet) -> None:
        support = [bool(here) for here in priors.support]
        columns = ([int(value) for value in column] for column in mechanism.kernel.weights.T.tolist())
        named = zip(mechanism.outputs, columns, strict=True)
        # An outcome that no value of the support causes does not occur.
        self.columns = [(label, one) for label, one in named if any(itertools.compress(one, support))]
        self.support, self.letters = support, letters
        self.least = least_mass_prover(priors)

    def most(self, column: Sequence[int]) -> Fraction:
        """max_Q Q·v = max v - min_Q Q·(max v - v), rounded up where the least mass is rounded down."""
        top = max(column)
        return top - self.least([top - value for value in column])

    def lift(self, value: int, column: Sequence[int]) -> Fraction | float:
        """The largest lift over the set; nothing over nothing is nothing."""
        mass = self.least(column)
        return Fraction(value) / mass if mass else math.inf if value else 0.0

    def worst(self, measured: Callable[[Column], Fraction | float]) -> tuple[Fraction | float, Label]:
        """Return the largest number of any outcome, and the outcome."""
        here = [(measured(column), label) for label, column in self.columns]
        return max(here, key=lambda pair: pair[0])

    def raised(self, label: Label, most: Level) -> KeptLimit:
        """A largest lift of one value."""
        code = self.letters.code(label, name="lift_of")
        found, outcome = self.worst(lambda column: self.lift(column[code], column))
        limit = at_most(most.shown)
        said = f"Given the prior, no outcome makes {label!r} more than {limit} times as likely."
        return KeptLimit(f"largest lift of {label!r}", f"at most {limit}", said, _allows(most, found), outcome, found)

    def lowered(self, label: Label, least: Fraction) -> KeptLimit:
        """A least lift of one value."""
        code = self.letters.code(label, name="floor")
        found, outcome = self.worst(lambda column: -Fraction(column[code]) / self.most(column))
        limit = at_least(least)
        said = f"Given the prior, no outcome makes {label!r} less than {limit} times as likely."
        return KeptLimit(f"least lift of {label!r}", f"at least {limit}", said, -found >= least, outcome, -found)

    def within(self, lip: Level) -> KeptLimit:
        """Local information privacy: the largest lift, and one over the smallest, over the letters that can occur."""

        def widest(column: Column) -> Fraction | float:
            here = list(itertools.compress(column, self.support))
            return max(self.lift(max(here), column), self.most(column) / min(here)) if min(here) else math.inf

        found, outcome = self.worst(widest)
        most = at_most(lip.above)
        said = f"Given the prior, no outcome makes any value more than {most} times as likely, nor {most} times less."
        return KeptLimit("largest change of any lift", f"at most {most}", said, _allows(lip, found), outcome, found)

    def below(self, values: Sequence[Label], ceiling: Fraction) -> KeptLimit:
        """A largest posterior: Σ_{i∈A} Q_i v_i ≤ c Q·v for every Q of the set.

        That is, the least mass of the entries (c - 1_A) v is not negative.
        """
        inside = {self.letters.code(label, name="ceiling") for label in values}
        up, down = ceiling.numerator, ceiling.denominator

        def excess(column: Column) -> Fraction:
            room = [v * (up - down if place in inside else up) for place, v in enumerate(column)]
            lowest = min(room)  # moved up by it, the entries are a column of their own
            return -(lowest + self.least([value - lowest for value in room]))

        most, outcome = self.worst(excess)
        named = some_of(values) if len(values) == 1 else f"one of {some_of(values)}"
        limit = percent_at_most(ceiling)
        said = f"Given the prior, no outcome makes {named} more than {limit} likely."
        return KeptLimit(f"largest posterior of {named}", f"at most {limit}", said, most <= 0, outcome)


def _allows(limit: Level, found: Fraction | float) -> bool:
    return found <= 1 or (isinstance(found, Fraction) and limit.allows(found))
