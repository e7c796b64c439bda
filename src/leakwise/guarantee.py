"""How a guarantee is printed: numbers rounded outwards in decimal, and sentences that name their adversary.

The one place that does it. A printed leakage, lift or failure probability is never below the proven one, a printed
utility or threshold never above it, and each sentence says for whom it holds.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

from leakwise.exact import exact_fraction, exp_lower, exp_upper
from leakwise.priors import AllPriors, Prior, PriorByStratum, PriorSet

__all__ = [
    "KNEW_THE_TRUE_PRIOR",
    "SAYS_NOTHING",
    "at_least",
    "at_most",
    "except_with",
    "failure_at_most",
    "for_anyone",
    "lift_above",
    "lift_below",
    "misleads",
    "never_certain",
    "no_guess",
    "nor_for_anyone",
    "percent",
    "percent_at_least",
    "percent_at_most",
    "taken_as_exact",
]

SAYS_NOTHING = "The outcome says nothing about the secret: every guess stays exactly as likely as before."

_INDEPENDENT = " (rows independent)"
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

    >>> percent(0.4079), percent(0.99999), percent(1.0), percent(2e-7)
    ('40.8%', '99.999%', '100%', '2e-5%')
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
    return _written(*_rounded(value, min(-1, _power(small) - 1 if small < Fraction(1, 10) else -1), up)) + "%"


# ----------------------------------------------------------------------------------------------------- sentences


def for_anyone(priors: PriorSet) -> str:
    """Return for whom a guarantee about these priors holds.

    >>> for_anyone(Prior.uniform(2))
    'for anyone who knew the prior (rows independent)'
    """
    if isinstance(priors, AllPriors):
        return f"for anyone, whatever they knew{_INDEPENDENT}"
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


def no_guess(
    lift: object,
    priors: PriorSet | str,
    *,
    seeing: str = "by seeing the outcome",
    unless: str = "",
    anyone: object = None,
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

    >>> print(no_guess(2, Prior.uniform(2)))
    No guess about the secret becomes more than 2 times as likely by seeing the outcome, for anyone who knew the \
prior (rows independent).
    """
    who = priors if isinstance(priors, str) else for_anyone(priors)
    if lift == 1:
        # For whoever knew the prior: a prior that is certain of a value leaves nothing to be said about it.
        words = f"{SAYS_NOTHING.removesuffix('.')}, {who}{unless}."
        if anyone is None or anyone == 1 or isinstance(priors, AllPriors):
            return words
        return f"{words} No guess becomes more than {at_most(anyone)} times as likely for anyone, whatever they knew."
    if anyone is not None and not isinstance(priors, AllPriors):
        who = nor_for_anyone(who, anyone)
    words = f"No guess about the secret becomes more than {at_most(lift)} times as likely {seeing}, {who}{unless}."
    if isinstance(priors, str):
        return words
    known = misleads(priors) if priors.failure else taken_as_exact(priors)
    return f"{words} {known}" if known else words


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


def taken_as_exact(priors: PriorSet, covers: str = "A failure probability (prior.confidence, --failure)") -> str | None:
    """Return the warning that a prior was counted and not known, or None where it was given or is a set."""
    if not isinstance(priors, Prior) or priors.sample_size is None:
        return None
    return (
        f"The prior is an estimate from {priors.sample_size:,} rows and was taken as exact: for the true prior the "
        f"lift may be larger. {covers} covers every prior that the rows leave possible."
    )
