"""A limit that is missed: the digits in which the proven lift differs, and what to do when they are the last ones."""

from __future__ import annotations

from fractions import Fraction

from leakwise.errors import InvalidInput
from leakwise.exact import Level, log_upper
from leakwise.guarantee import at_most
from leakwise.mechanism import Mechanism
from leakwise.priors import PriorSet
from leakwise.proof.ratio import worst_outcome

__all__ = ["more_than_asked", "telling_digits"]

# An excess below this share of the limit is the rounding of a matrix of floats, not its design.
_HAIR = Fraction(1, 10**6)
_MOST_DIGITS = 40
# Which denominators 2^bits to try, and up to how many entries it is worth a fraction of a second.
_BITS = range(60, 19, -1)
_MOST_ENTRIES = 2_000


def telling_digits(ratio: Fraction, asked: Level) -> int:
    """Return how many digits show that the ratio is above the limit: the last one is worth less than the excess."""
    digits, share = 4, (ratio - asked.above) / ratio
    while digits < _MOST_DIGITS and share * 10 ** (digits - 1) < 1:
        digits += 1
    return digits + 1


def more_than_asked(mechanism: Mechanism, priors: PriorSet, ratio: Fraction, asked: Level) -> str:
    """Return by how much the limit is missed and, when it is by a hair, the ways to meet it."""
    digits = telling_digits(ratio, asked)
    words = (
        f"That is more than asked ({asked.words}): the largest lift is {at_most(ratio, digits)}, the limit "
        f"{at_most(asked.above, digits)}. The guarantee does not hold."
    )
    if ratio > asked.above * (1 + _HAIR):
        return words
    wider = f"lift={at_most(ratio)}" if asked.exponent is None else f"epsilon={at_most(log_upper(ratio))}"
    ways = f"give the matrix as fractions ('1/3'), or ask for a slightly larger limit, {wider.replace(',', '')}"
    if (bits := _rounding_within(mechanism, priors, asked)) is not None:
        ways = f"m.dyadic({bits}) is within the limit; or {ways}"
    return f"{words} It is missed by the rounding of the matrix: {ways}."


def _rounding_within(mechanism: Mechanism, priors: PriorSet, asked: Level) -> int | None:
    """Return the finest power of two at which the rounded mechanism keeps within the limit."""
    rows, columns = mechanism.shape
    if rows * columns > _MOST_ENTRIES:
        return None
    for bits in _BITS:
        try:
            rounded = mechanism.dyadic(bits)
        except InvalidInput:  # a positive entry would vanish, and from here on always
            return None
        found = worst_outcome(rounded.kernel, priors).ratio
        if found is not None and asked.allows(found):
            return bits
    return None
