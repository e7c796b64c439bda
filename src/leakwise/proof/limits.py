"""The limits that were asked of a mechanism, as one noun: for those who knew the prior, for anyone, value by value."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from leakwise.alphabet import Alphabet, Label
from leakwise.errors import Infeasible, InvalidInput, LeakwiseWarning, some_of
from leakwise.exact import Level, exact_fraction, level, typed
from leakwise.guarantee import at_least, at_most, except_with, percent_at_least, percent_at_most
from leakwise.priors import AllPriors, Prior, PriorSet
from leakwise.proof.sets import least_mass_prover

__all__ = ["NO_LIMITS", "AskedLimits", "asked_limits"]

# anyone= and ldp= that are so close were meant to be the same number, one of them rounded.
_SAME = 1e-12


@dataclass(frozen=True)
class AskedLimits:
    """What a mechanism may reveal: every limit that was asked for, none of which has to be given.

    Attributes
    ----------
    level
        The largest lift for the prior, or for every prior of a set: max v ≤ t π·v for each column v.
    anyone
        The largest lift for any prior whatever: max v ≤ a min v (e^ε of local differential privacy).
    lip
        Local information privacy: every lift within e^±lip.
    lift_of
        The largest lift of single values: v_i ≤ t_i π·v.
    ceiling
        The largest posterior of values, or of sets of them: Σ_{i∈A} π_i v_i ≤ c π·v.
    floor
        The least lift of single values: v_i ≥ b_i π·v.
    maximal_leakage
        The largest Σ max v over all columns together: e^L of maximal leakage, over the values that can occur.
    envelope
        The largest lift after any post-processing, and the probability δ with which it may be exceeded all the same.
    """

    level: Level | None = None
    anyone: Level | None = None
    lip: Level | None = None
    lift_of: tuple[tuple[Label, Level], ...] = ()
    ceiling: tuple[tuple[tuple[Label, ...], Fraction], ...] = ()
    floor: tuple[tuple[Label, Fraction], ...] = ()
    maximal_leakage: Level | None = None
    envelope: tuple[Level, Fraction] | None = None

    @property
    def further(self) -> AskedLimits:
        """The same limits without the first one."""
        return replace(self, level=None)

    def __bool__(self) -> bool:
        """Return whether any limit was asked for."""
        return self != NO_LIMITS

    @property
    def by_value(self) -> bool:
        """Whether some values have limits of their own."""
        return bool(self.lift_of or self.ceiling or self.floor)

    @property
    def in_total(self) -> str | None:
        """The name of a limit on all outcomes together; None where each outcome has its own limits alone."""
        return "maximal_leakage" if self.maximal_leakage is not None else "delta" if self.envelope is not None else None

    def refuse_in_total(self, what: str) -> None:
        """Refuse a limit on all outcomes together with what it does not go with."""
        if self.in_total is not None:
            raise InvalidInput(f"{self.in_total}= does not go with {what}.")

    def on(self, alphabet: Alphabet) -> AskedLimits:
        """Return the limits with labels of this alphabet, sets of values in its order; an unknown label is an error."""

        def known(name: str, given: Label) -> Label:
            return alphabet.labels[alphabet.code(given, name=name)]

        ceilings = dict[tuple[Label, ...], Fraction]()
        for key, most in self.ceiling:
            # A tuple is one value of a joint secret where there is such a value, and a set of values elsewhere.
            members = (key,) if key in alphabet.index else key
            codes = sorted({alphabet.code(one, name="ceiling") for one in members})
            together = tuple(alphabet.labels[code] for code in codes)
            ceilings[together] = min(most, ceilings.get(together, most))
        return replace(
            self,
            lift_of=tuple((known("lift_of", one), most) for one, most in self.lift_of),
            ceiling=tuple(ceilings.items()),
            floor=tuple((known("floor", one), least) for one, least in self.floor),
        )

    def for_priors(self, priors: PriorSet, alphabet: Alphabet | None = None) -> AskedLimits:
        """Return the limits over the values of these priors, or raise where no mechanism at all keeps them.

        A posterior averages to the prior, so a ceiling below the prior cannot be kept: the witness is the values and
        their probability. ``alphabet`` names the values where the priors only number them.
        """
        letters = priors.alphabet if alphabet is None or not alphabet.declared else alphabet
        found = self.on(letters)
        support, index = priors.support, letters.index
        named = [("lift_of", (one,)) for one, _ in found.lift_of] + [("floor", (one,)) for one, _ in found.floor]
        for name, values in named + [("ceiling", values) for values, _ in found.ceiling]:
            if not any(support[index[one]] for one in values):
                raise InvalidInput(
                    f"{name} names {some_of(values)}, which has probability 0 under the prior: the limit would say "
                    "nothing. Leave it out, or give the value a probability."
                )
        for values, most in found.ceiling:
            before = most_likely(priors, {index[one] for one in values})
            if most < before:
                left = "that the sample leaves possible" if priors.failure else "of the set"
                some = "the prior" if isinstance(priors, Prior) else f"a prior {left}"
                # Typed probabilities are binary floats by now, and scaled to a sum of 1: print what was meant.
                given = float(f"{float(before):.12g}")
                hair = " (a hair more, as a float)" if typed(given, before) == most else ""
                raise Infeasible(
                    f"ceiling of {percent_at_least(most)} for {some_of(values)} cannot be kept by any mechanism: "
                    f"{some} gives {percent_at_most(given)}{hair}, and what anyone believes afterwards averages to "
                    f"that. Ask for more than that, or limit how much more likely it may become: "
                    f"lift_of={{{values[0]!r}: 1.2}} (--lift-of {values[0]}=1.2).",
                    witness=(values, before),
                )
        return found

    def narrowed(self, share: Fraction, prior: Prior) -> AskedLimits:
        """Return limits that leave only a share of the room above (or below) the prior; the one for anyone stays.

        A mechanism that keeps them at one prior keeps the limits themselves at priors that are close to it.
        """
        index, masses = prior.alphabet.index, prior.fractions

        def nearer(limit: Level) -> Level:
            return level(lift=1 + (limit.below - 1) * share)

        def lower(values: tuple[Label, ...], most: Fraction) -> Fraction:
            before = sum((masses[index[one]] for one in values), Fraction(0))
            return before + (most - before) * share

        return replace(
            self,
            level=None if self.level is None else nearer(self.level),
            lift_of=tuple((one, nearer(most)) for one, most in self.lift_of),
            ceiling=tuple((values, lower(values, most)) for values, most in self.ceiling),
            floor=tuple((one, 1 - (1 - least) * share) for one, least in self.floor),
        )

    def less(self, factor: Fraction) -> AskedLimits:
        """Return the limits that leave room for a factor which everything a mechanism tells is multiplied by.

        With a factor above the limits no mechanism keeps them.
        """

        def lower(limit: Level) -> Level:
            if limit.below / factor < 1 + Fraction(1, 1 << 32):
                raise Infeasible(
                    f"A factor of {at_most(factor)} is spent already, which is more than {limit.words} allows. Spend "
                    "less (prior_cost, --prior-cost), or allow a larger lift.",
                    witness=factor,
                )
            # On a grid that certificates which rest on logarithms round up to, so that they do not exceed it.
            return level(lift=Fraction(math.floor((limit.below / factor) * (1 << 32)), 1 << 32))

        if high := [label for label, least in self.floor if least * factor > 1]:
            raise Infeasible(
                f"floor for {some_of(high)} cannot be kept: a factor of {at_most(factor)} is spent already. Lower it.",
                witness=factor,
            )
        return AskedLimits(
            None if self.level is None else lower(self.level),
            None if self.anyone is None else lower(self.anyone),
            None if self.lip is None else lower(self.lip),
            tuple((one, lower(most)) for one, most in self.lift_of),
            tuple((values, most / factor) for values, most in self.ceiling),
            tuple((one, least * factor) for one, least in self.floor),
            None if self.maximal_leakage is None else lower(self.maximal_leakage),
            None if self.envelope is None else (lower(self.envelope[0]), self.envelope[1]),
        )

    def idle(self, priors: PriorSet) -> list[str]:
        """Return the limits that say nothing beside the others, in words."""
        told = []
        first, anyone = self.level, self.anyone
        if anyone is not None and first is not None:
            if anyone.above < first.below:
                told.append(
                    f"The limit {first.words} is idle: no lift exceeds {at_most(anyone.shown)} for anyone, which is "
                    "less."
                )
            elif isinstance(priors, AllPriors):
                told.append(f"anyone = {at_most(anyone.shown)} is idle: the limit {first.words} holds for every prior.")
        ends = [one for one in (first, anyone) if one is not None]
        least = min(ends, key=lambda one: one.below, default=None)
        for label, most in self.lift_of:
            if least is not None and most.below >= least.above:
                told.append(
                    f"lift_of {label!r} = {at_most(most.shown)} is idle: no value becomes more than "
                    f"{at_most(least.shown)} times as likely."
                )
        return told

    def warn_of_idle(self, priors: PriorSet, stacklevel: int) -> None:
        """Warn of each limit that says nothing beside the others."""
        for words in self.idle(priors):
            warnings.warn(words, LeakwiseWarning, stacklevel=stacklevel + 1)

    def describe(self) -> str:
        """Return the limits in words."""
        parts = [] if self.level is None else [f"PML {self.level.words}"]
        if self.anyone is not None:
            exponent = self.anyone.exponent
            parts.append(
                f"anyone {at_most(self.anyone.shown)}" if exponent is None else f"LDP ε = {self.anyone.epsilon:g}"
            )
        parts += [] if self.lip is None else [f"LIP ±{self.lip.epsilon:g}"]
        if self.maximal_leakage is not None:
            parts.append(f"maximal leakage {self.maximal_leakage.epsilon:g}")
        if self.envelope is not None:
            most, delta = self.envelope
            parts.append(f"{most.words} after any post-processing, {except_with(delta)}")
        parts += [f"lift of {label!r} at most {at_most(most.shown)}" for label, most in self.lift_of]
        parts += [f"posterior of {some_of(values)} at most {percent_at_most(most)}" for values, most in self.ceiling]
        parts += [f"lift of {label!r} at least {at_least(least)}" for label, least in self.floor]
        return ", ".join(parts)


NO_LIMITS = AskedLimits()


def most_likely(priors: PriorSet, codes: set[int]) -> Fraction:
    """Return a number not below the largest probability that a prior of the set gives to these values."""
    outside = [0 if code in codes else 1 for code in range(len(priors.alphabet))]
    return 1 - least_mass_prover(priors)(outside)


def asked_limits(
    epsilon: object = None,
    lift: object = None,
    *,
    anyone: object = None,
    ldp: object = None,
    lip: object = None,
    lift_of: Mapping[Any, object] | None = None,
    ceiling: Mapping[Any, object] | None = None,
    floor: Mapping[Any, object] | None = None,
    maximal_leakage: object = None,
    delta: object = None,
) -> AskedLimits:
    """Return the limits as they were typed; limits that were read already are themselves.

    A float limit means the decimal that was typed. Of a lift the binary value is allowed as well where it is a hair
    above that decimal.

    >>> print(asked_limits(lift=2, anyone=20, ceiling={"HIV": 0.05}).describe())
    PML lift = 2, anyone 20, posterior of 'HIV' at most 5%
    """
    if isinstance(epsilon, AskedLimits):
        return epsilon
    first = None if epsilon is None and lift is None else level(epsilon, lift)
    envelope = None if delta is None else _envelope(first, delta, maximal_leakage)
    return AskedLimits(
        first if envelope is None else None,
        _anyone(anyone, ldp),
        None if lip is None else level(lip, name="lip"),
        tuple((one, _lift_of(one, most)) for one, most in _pairs("lift_of", lift_of, "lifts, such as {'HIV': 1.2}")),
        tuple(
            (_members(one), _share("ceiling", one, most))
            for one, most in _pairs("ceiling", ceiling, "probabilities, such as {'HIV': 0.05}")
        ),
        tuple(
            (one, _share("floor", one, least))
            for one, least in _pairs("floor", floor, "least lifts, such as {'HIV': 0.5}")
        ),
        None if maximal_leakage is None else level(maximal_leakage, name="maximal_leakage"),
        envelope,
    )


def _envelope(most: Level | None, delta: object, maximal_leakage: object) -> tuple[Level, Fraction] | None:
    """The limit after any post-processing; None at δ = 0, where it is the limit on every outcome itself."""
    share = exact_fraction(delta, "delta")
    if not 0 <= share < 1:
        raise InvalidInput(
            f"delta must be a probability over outcomes, at least 0 and below 1: how often the lift may be exceeded. "
            f"Got {delta!r} instead."
        )
    if most is None:
        raise InvalidInput(
            f"delta={delta!r} goes with epsilon= or lift=: the leakage that is exceeded with probability delta at "
            "most, after any post-processing."
        )
    if maximal_leakage is not None:
        raise InvalidInput("delta and maximal_leakage are limits on all outcomes together. Give one of them.")
    return (most, typed(delta, share)) if share else None


def _anyone(anyone: object, ldp: object) -> Level | None:
    """The limit for every prior, given as a lift or in nats."""
    if isinstance(anyone, Level):
        return anyone
    found = None
    if anyone is not None:
        if exact_fraction(anyone, "anyone") < 1:
            raise InvalidInput(f"anyone must be at least 1 (1 reveals nothing). Got {anyone!r} instead.")
        found = level(lift=anyone)
    if ldp is None:
        return found
    nats = level(ldp, name="ldp")
    if found is not None and not math.isclose(found.epsilon, nats.epsilon, rel_tol=_SAME, abs_tol=_SAME):
        raise InvalidInput(
            f"anyone= and ldp= are the same limit, as a lift and in nats: anyone={anyone!r} is "
            f"ldp={found.epsilon:.6g}. Got ldp={ldp!r} as well. Give one of them."
        )
    return nats if found is None else found


def _pairs(name: str, given: Mapping[Any, object] | None, what: str) -> Iterable[tuple[Any, object]]:
    if given is None:
        return ()
    if not isinstance(given, Mapping) or not given:
        raise InvalidInput(f"{name} must map values of the secret to {what}. Got {given!r} instead.")
    return given.items()


def _lift_of(label: Any, most: object) -> Level:
    if exact_fraction(most, f"lift_of[{label!r}]") < 1:
        raise InvalidInput(f"lift_of[{label!r}] must be at least 1 (1: no outcome raises it). Got {most!r} instead.")
    return level(lift=most)


def _members(key: Any) -> tuple[Any, ...]:
    """The values that a ceiling is for: one, or several in a tuple or a set."""
    if key in ((), frozenset()):
        raise InvalidInput("ceiling must be for a value, or for several in a tuple or a frozenset. Got an empty one.")
    return key if isinstance(key, tuple) else tuple(sorted(key, key=str)) if isinstance(key, frozenset) else (key,)


def _share(name: str, label: Any, given: object) -> Fraction:
    """A number from 0 to 1; a float that was typed means its decimal, and prints as that."""
    exact = exact_fraction(given, f"{name}[{label!r}]")
    if not 0 <= exact <= 1:
        what = "a probability" if name == "ceiling" else "a lift of at most 1: 0.5 is 'never less than half as likely'"
        raise InvalidInput(f"{name}[{label!r}] must be between 0 and 1, {what}. Got {given!r} instead.")
    return typed(given, exact)
