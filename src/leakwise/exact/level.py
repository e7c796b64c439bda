"""A level given as an exponent or as the factor itself, with both sides of the irrational e^ε."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from leakwise.errors import InvalidInput
from leakwise.exact.logarithm import exp_lower, exp_upper, log_at_most, log_upper
from leakwise.exact.rationals import exact_fraction

__all__ = ["Level", "level", "typed"]

# Beyond this exponent a factor has more than a thousand digits: nobody means it.
_LARGEST_EXPONENT = 5000
# A float with more digits than this was computed, not typed.
_MOST_TYPED = 12


@dataclass(frozen=True)
class Level:
    """The factor e^ε between two rationals: ``below`` ≤ e^ε ≤ ``above``.

    ``epsilon`` is what the user asked for (or, for a factor, its logarithm rounded up). A factor given by the
    user is rational: then ``below`` = ``above``, and ``exponent`` is ``None``. Only a float that was typed, such as
    1.1, has two sides: the decimal as it reads, and its binary value a hair above, which is allowed, too.
    """

    epsilon: float
    below: Fraction
    above: Fraction
    exponent: Fraction | None

    def allows(self, ratio: Fraction) -> bool:
        """Decide ratio ≤ e^ε without rounding."""
        if ratio <= self.below:
            return True
        if self.exponent is None:
            return ratio <= self.above
        if ratio >= self.above:
            return False
        return log_at_most(ratio, self.exponent)

    @property
    def words(self) -> str:
        """How the user gave it: ``epsilon = 0.8`` or ``lift = 2``."""
        if self.exponent is not None:
            return f"epsilon = {str(self.epsilon).removesuffix('.0')}"
        # A float such as 1.1 is a fraction of thirty digits: the short decimal is what the user typed.
        exact = str(self.above)
        if self.above > 10**300:
            return f"lift = {exact}"
        short = float(self.above)
        decimal = len(exact) > 12 or (self.above.denominator >= 10 and Fraction(str(short)) == self.above)
        return f"lift = {short if decimal else exact}"

    @property
    def shown(self) -> Fraction | float:
        """The upper side for print: a float, which prints as it was typed, where it is the value of one."""
        if self.exponent is not None or self.above > 10**300:
            return self.above
        short = float(self.above)
        return short if Fraction(short) == self.above else self.above

    @property
    def stored(self) -> tuple[str, Fraction]:
        """The kind of the level and its exact number, as files keep it."""
        return ("lift", self.above) if self.exponent is None else ("epsilon", self.exponent)


def level(epsilon: object = None, lift: object = None, *, name: str = "epsilon") -> Level:
    """The level for ``epsilon=`` or for ``lift=`` (exactly one of them); a level that was read already is itself.

    >>> level(lift=2).below, level(epsilon=0).above
    (Fraction(2, 1), Fraction(1, 1))
    >>> level(level(lift=2)).words
    'lift = 2'
    """
    if isinstance(epsilon, Level) and lift is None:
        return epsilon
    if (epsilon is None) == (lift is None):
        got = "neither" if epsilon is None else "both"
        other = "lift" if name == "epsilon" else f"{name}_lift"
        option = other.replace("_", "-")
        raise InvalidInput(f"Give either {name}= (--{name}, in nats) or {other}= (--{option}, e^ε). Got {got}.")
    if lift is not None:
        factor = exact_fraction(lift, "lift")
        if factor < 1:
            raise InvalidInput(f"lift must be at least 1 (1 reveals nothing). Got {_shown(lift)} instead.")
        return Level(log_upper(factor), min(factor, typed(lift, factor)), factor, None)
    exponent = exact_fraction(epsilon, name)
    if exponent < 0:
        raise InvalidInput(f"{name} must be at least 0 (0 reveals nothing). Got {_shown(epsilon)} instead.")
    if exponent > _LARGEST_EXPONENT:
        raise InvalidInput(
            f"{name} must be in nats, at most {_LARGEST_EXPONENT}. Got a larger number: "
            "no secret on a finite alphabet leaks that much."
        )
    return Level(float(exponent), exp_lower(exponent), exp_upper(exponent), exponent)


def _shown(given: object) -> str:
    """Return a number as it was typed; a fraction without the name of its class."""
    return str(given) if isinstance(given, Fraction) else repr(given)


def typed(given: object, exact: Fraction) -> Fraction:
    """Return the decimal that a float was typed as, or its own value where it has too many digits to have been typed.

    A mechanism designed for the binary value of 1.1 has a lift above 1.1, and its guarantee would have to say 1.1001.
    """
    if not isinstance(given, float):
        return exact
    decimal = Decimal(repr(float(given)))
    return Fraction(decimal) if len(decimal.as_tuple().digits) <= _MOST_TYPED else exact
