"""How a guarantee is printed: numbers rounded outwards in decimal, and sentences that name their adversary.

The one place that does it. A printed leakage, lift or failure probability is never below the proven one, a printed
utility or threshold never above it, and each sentence says for whom it holds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from leakwise.alphabet import joined
from leakwise.estimated import COVERS, taken_as_exact, without_advice
from leakwise.exact import exact_fraction, exp_lower, exp_upper
from leakwise.priors import AllPriors, Prior, PriorByStratum, PriorSet

__all__ = [
    "COVERS",
    "KNEW_THE_TRUE_PRIOR",
    "SAYS_NOTHING",
    "all_releases",
    "at_least",
    "at_most",
    "beyond_given",
    "except_with",
    "failure_at_most",
    "for_anyone",
    "lift_above",
    "lift_below",
    "misleads",
    "never_certain",
    "no_guess",
    "nor_for_anyone",
    "paid_for",
    "percent",
    "percent_at_least",
    "percent_at_most",
    "rows_mislead",
    "taken_as_exact",
    "treated_as_public",
    "without_advice",
]

SAYS_NOTHING = "The outcome says nothing about the secret: every guess stays exactly as likely as before."

_INDEPENDENT = " (rows independent)"
_ANYONE = "for anyone, whatever they knew"
KNEW_THE_TRUE_PRIOR = f"for anyone who knew the true prior{_INDEPENDENT}"

_DIGITS = 5
# Between these a number is written out, beyond them with an exponent.
_SMALLEST, _LARGEST = Fraction(1, 10_000), 10**15


# ------------------------------------------------------------------------------------------------------- numbers


def at_most(x: object, digits: int = _DIGITS) -> str:
    """Return a number in decimal, rounded up to so many significant digits: never below ``x``.

    A float whose own text is as short as that (0.1, 1e-9) is printed as that text, which reads back as the same float.

    >>> at_most(2), at_most(2.00004), at_most(1004.91), at_most(1e-9), at_most(Fraction(2, 3))
    ('2', '2.0001', '1,005', '1e-9', '0.66667')
    """
    return _outwards(x, digits, up=True)


def at_least(x: object, digits: int = _DIGITS) -> str:
    """Return a number in decimal, rounded down to so many significant digits: never above ``x``.

    >>> at_least(0.99999999), at_least(1), at_least(Fraction(2, 3))
    ('0.99999', '1', '0.66666')
    """
    return _outwards(x, digits, up=False)


def lift_above(epsilon: float) -> Fraction | float:
    """Return a number that is not below e^ε, for results that know their leakage only in nats."""
    return exp_upper(Fraction(epsilon)) if epsilon <= 5000 else math.inf


def lift_below(epsilon: float) -> Fraction | float:
    """Return a number that is not above e^ε, for leakage that is at least so much."""
    return exp_lower(Fraction(epsilon)) if epsilon <= 5000 else math.inf


def percent(probability: float) -> str:
    """Return a probability in percent, to the nearest digit shown; 0% and 100% are exactly that.

    >>> percent(0.4079), percent(0.0014), percent(0.99999), percent(1.0), percent(2e-7)
    ('40.8%', '0.14%', '99.999%', '100%', '2e-5%')
    """
    return _percent(probability, None)


def percent_at_most(probability: object) -> str:
    """Return a probability in percent, rounded up; 100% only for certainty."""
    return _percent(probability, True)


def percent_at_least(probability: object) -> str:
    """Return a probability in percent, rounded down; 0% only for the impossible."""
    return _percent(probability, False)


def _exact(x: Any, digits: int) -> Fraction:
    """Return the number as a fraction: of a float the short decimal that it reads as, else its binary value."""
    if isinstance(x, float):
        short = Decimal(repr(float(x)))
        return Fraction(short if len(short.normalize().as_tuple().digits) <= digits else x)
    return exact_fraction(x, "x")


def _outwards(x: Any, digits: int, *, up: bool) -> str:
    if isinstance(x, float) and not math.isfinite(x):
        return "NaN" if math.isnan(x) else "∞" if x > 0 else "-∞"
    value = _exact(x, digits)
    if value < 0:
        return "-" + _written(*_rounded(-value, _power(-value) - digits + 1, not up))
    return "0" if value == 0 else _written(*_rounded(value, _power(value) - digits + 1, up))


def _power(value: Fraction) -> int:
    """The exponent k with 10^k ≤ value < 10^(k+1)."""
    bits = value.numerator.bit_length() - value.denominator.bit_length()
    power = math.floor((bits - 1) * math.log10(2))
    while value >= _ten(power + 1):
        power += 1
    while value < _ten(power):
        power -= 1
    return power


def _ten(power: int) -> Fraction:
    return Fraction(10**power) if power >= 0 else Fraction(1, 10**-power)


def _rounded(value: Fraction, place: int, up: bool | None) -> tuple[int, int]:
    """The integer n with n·10^place next to the value: above, below, or (None) nearest."""
    steps = value / _ten(place)
    return (round(steps) if up is None else math.ceil(steps) if up else math.floor(steps)), place


def _written(steps: int, place: int) -> str:
    """n·10^place in decimal, without zeros at its end; thousands apart."""
    while steps and steps % 10 == 0:
        steps, place = steps // 10, place + 1
    value = steps * _ten(place)
    if steps and not _SMALLEST <= value < _LARGEST:
        figures = str(steps)
        mantissa = figures[0] + ("." + figures[1:] if len(figures) > 1 else "")
        return f"{mantissa}e{place + len(figures) - 1}"
    if place >= 0:
        return f"{int(value):,}"
    whole, rest = divmod(steps, 10**-place)
    return f"{whole:,}.{rest:0{-place}d}"


def _percent(probability: Any, up: bool | None) -> str:
    value = 100 * _exact(probability, _DIGITS)
    if value <= 0 or value >= 100:
        return "0%" if value <= 0 else "100%"
    # One decimal, and two digits of whatever is small: the probability, or what it misses of 100%.
    small = min(value, 100 - value)
    return _written(*_rounded(value, min(-1, _power(small) - 1), up)) + "%"


# ----------------------------------------------------------------------------------------------------- sentences


def for_anyone(priors: PriorSet) -> str:
    """Return for whom a guarantee about these priors holds.

    >>> for_anyone(Prior.uniform(2))
    'for anyone who knew the prior (rows independent)'
    """
    if isinstance(priors, AllPriors):
        return f"{_ANYONE}{_INDEPENDENT}"
    if isinstance(priors, Prior):
        return f"for anyone who knew the prior{_INDEPENDENT}"
    if priors.failure:
        return KNEW_THE_TRUE_PRIOR
    return f"for anyone whose prior is in the set{_INDEPENDENT}"


def nor_for_anyone(who: str, anyone: object) -> str:
    """Return for whom two limits hold: those of :func:`for_anyone`, and with a looser one everyone else.

    >>> nor_for_anyone(for_anyone(Prior.uniform(2)), 20)
    'for anyone who knew the prior, nor more than 20 times as likely for anyone, whatever they knew (rows independent)'
    """
    looser = f"nor more than {at_most(anyone)} times as likely for anyone, whatever they knew{_INDEPENDENT}"
    return f"{who.removesuffix(_INDEPENDENT)}, {looser}"


def _assuming(unrelated: Sequence[object], about: str) -> str:
    """What a guarantee rests on, in brackets; of columns that are assumed to tell nothing it says so."""
    if not unrelated:
        return _INDEPENDENT
    tells = "tells" if len(unrelated) == 1 else "tell"
    return f"{_INDEPENDENT.removesuffix(')')}; if {joined(unrelated)} {tells} nothing about {about})"


def no_guess(
    lift: object,
    priors: PriorSet | str,
    *,
    seeing: str = "by seeing the outcome",
    unless: str = "",
    anyone: object = None,
    about: str = "the secret",
    unrelated: Sequence[object] = (),
) -> str:
    """Return the guarantee of a lift with its adversary, and how far the prior itself is known.

    Parameters
    ----------
    lift
        The largest lift that is proven.
    priors
        What it is proven for; or the adversary in words, where there is no set of priors.
    seeing, unless
        What the adversary sees, and what is left out.
    anyone
        The largest lift that is proven for any prior whatever, where it is part of the guarantee.
    about
        What the secret is called.
    unrelated
        Columns that are seen beside it and are assumed to tell nothing about it.

    >>> print(no_guess(2, Prior.uniform(2)))
    No guess about the secret becomes more than 2 times as likely by seeing the outcome, for anyone who knew the \
prior (rows independent).
    """
    who, assumed = priors if isinstance(priors, str) else for_anyone(priors), _assuming(unrelated, about)
    if lift == 1:
        # For whoever knew the prior: a prior that is certain of a value leaves nothing to be said about it.
        words = f"{SAYS_NOTHING.removesuffix('.')}, {who}{unless}.".replace(_INDEPENDENT, assumed)
        if anyone is None or anyone == 1 or isinstance(priors, AllPriors):
            return words
        return f"{words} No guess becomes more than {at_most(anyone)} times as likely for anyone, whatever they knew."
    if anyone is not None and not isinstance(priors, AllPriors):
        who = nor_for_anyone(who, anyone)
    who = who.replace(_INDEPENDENT, assumed)
    words = f"No guess about {about} becomes more than {at_most(lift)} times as likely {seeing}, {who}{unless}."
    if isinstance(priors, str):
        return words
    known = misleads(priors) if priors.failure else taken_as_exact(priors, COVERS)
    return f"{words} {known}" if known else words


def beyond_given(
    lift: object,
    priors: PriorByStratum,
    given: Sequence[object],
    *,
    anyone: object = None,
    about: str = "the secret",
    unrelated: Sequence[object] = (),
) -> str:
    """Return the guarantee to whoever sees a whole row: what its outcome adds to the columns that go out with it.

    Parameters
    ----------
    lift
        The largest lift in any stratum that is proven, for the prior that the given columns make.
    priors
        What it is proven for.
    given
        The names of the given columns.
    anyone, about, unrelated
        As for :func:`no_guess`.

    >>> cp = PriorByStratum({"f": Prior.uniform(2), "m": Prior([0.9, 0.1])}, given="sex")
    >>> print(beyond_given(2, cp, ["sex"], anyone=20, about="diagnosis", unrelated=["zip"]))
    No guess about diagnosis becomes more than 2 times as likely as sex makes it already, for anyone who sees the row \
and knew the prior of its stratum, nor more than 20 times as likely for anyone, whatever they knew (rows independent; \
if zip tells nothing about diagnosis).
    """
    makes = "makes" if len(given) == 1 else "make"
    who = _who_sees_the_row(priors)
    # For every prior in every stratum the first limit is the smaller one for anyone.
    who = f"{who}{_INDEPENDENT}" if anyone is None or who == _ANYONE else nor_for_anyone(who, anyone)
    return (
        f"No guess about {about} becomes more than {at_most(lift)} times as likely as {joined(given)} {makes} it "
        f"already, {who.replace(_INDEPENDENT, _assuming(unrelated, about))}."
    )


def _who_sees_the_row(priors: PriorByStratum) -> str:
    """For whom a guarantee by strata holds. The true prior is what the given columns make it; any other is named."""
    kinds = [priors[key] for key in priors]
    if all(isinstance(one, AllPriors) for one in kinds):
        return _ANYONE
    if any(isinstance(one, Prior) for one in kinds):
        return "for anyone who sees the row and knew the prior of its stratum"
    if priors.exact_failure:
        return "for anyone who sees the row"
    return "for anyone who sees the row and whose prior is in the set of its stratum"


def rows_mislead(priors: PriorSet | PriorByStratum, given: Sequence[object] = ()) -> str:
    """Return what the failure probability means where the table itself was the sample, and of whom its prior is."""
    like = f"the rows with the same {joined(given)}" if given else "the rows"
    return (
        f"The rows mislead, and the guarantee with them, with probability at most {failure_at_most(priors)}: it is "
        f"about people drawn like {like}."
    )


def treated_as_public(lift: Any, anyone: Any, *, by_stratum: bool) -> str:
    """Return what it means that frequencies of the table, rounded, decide the mechanism (the mathematics, section 8).

    >>> print(treated_as_public(2, 20, by_stratum=True))
    The frequencies per stratum, rounded, are treated as public: the lift of 2 is that of a row's own outcome; from \
all rows together it is at most 40.
    """
    if anyone is None:
        together = "from all rows together there is no limit, because none was asked for anyone."
    else:
        together = f"from all rows together it is at most {at_most(Fraction(lift) * Fraction(anyone))}."
    return (
        f"The frequencies{' per stratum' if by_stratum else ''}, rounded, are treated as public: the lift of "
        f"{at_most(lift)} is that of a row's own outcome; {together}"
    )


def paid_for(cost: object, *, by_stratum: bool) -> str:
    """Return what it means that the frequencies were counted with noise (the mathematics, section 8).

    >>> print(paid_for(0.05, by_stratum=True))
    The frequencies per stratum were counted with noise, which costs 0.05 nats. The limits contain that: they hold for \
the mechanism and all released rows together.
    """
    return (
        f"The frequencies{' per stratum' if by_stratum else ''} were counted with noise, which costs {at_most(cost)} "
        "nats. The limits contain that: they hold for the mechanism and all released rows together."
    )


def all_releases(lift: object, data: str, about: str, given: Sequence[object], unrelated: Sequence[object]) -> str:
    """Return what all releases of a ledger reveal together, with their adversary.

    >>> print(all_releases(40, "survey", "diagnosis", ["sex"], []))
    All releases of survey together make no guess about diagnosis more than 40 times as likely as sex makes it \
already, for anyone who sees the rows (rows independent).
    """
    than, who = "it was", "for anyone who knew the prior"
    if given:
        than, who = f"{joined(given)} make{'s' * (len(given) == 1)} it already", "for anyone who sees the rows"
    return (
        f"All releases of {data} together make no guess about {about} more than {at_most(lift)} times as likely as "
        f"{than}, {who}{_assuming(unrelated, about)}."
    )


def failure_at_most(priors: PriorSet | PriorByStratum) -> str:
    """Return the failure probability of a set of priors: as it was typed, or rounded up."""
    exact = getattr(priors, "exact_failure", priors.failure)
    # A float that stands for itself prints as it was typed; one that was rounded up from a fraction does not.
    return at_most(priors.failure if exact == Fraction(priors.failure) else exact)


def misleads(priors: PriorSet) -> str:
    """Return what the failure probability of a sample means, or that it cannot be checked."""
    if getattr(priors, "method", None) is None:
        return f"The failure probability of the prior, {failure_at_most(priors)}, is stated, not proven."
    return f"The sample misleads, and the guarantee with it, with probability at most {failure_at_most(priors)}."


def except_with(delta: object) -> str:
    """Return the outcomes that a guarantee leaves out."""
    return f"except with probability at most {at_most(delta)}"


def never_certain(lift: Any) -> str:
    """Return which guesses stay uncertain: p·lift < 1 for every p below the threshold, which is rounded down."""
    threshold = percent_at_least(1 / Fraction(lift))
    return (
        f"A value, or a fact that follows from it, that had less than {threshold} probability before cannot become "
        "certain."
    )
