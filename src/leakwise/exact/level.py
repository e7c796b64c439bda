"""A level given as an exponent or as the factor itself, with both sides of the irrational e^ε."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from leakwise.errors import InvalidInput
from leakwise.exact.logarithm import exp_lower, exp_upper, log_at_most, log_upper
from leakwise.exact.rationals import exact_fraction

__all__ = ["Level", "level"]

# Beyond this exponent a factor has more than a thousand digits: nobody means it.
_LARGEST_EXPONENT = 5000


@dataclass(frozen=True)
class Level:
    """The factor e^ε between two rationals: ``below`` ≤ e^ε ≤ ``above``.

    ``epsilon`` is what the user asked for (or, for a factor, its logarithm rounded up). A factor given by the
    user is rational: then ``below`` = ``above``, and ``exponent`` is ``None``.
    """

    epsilon: float
    below: Fraction
    above: Fraction
    exponent: Fraction | None

    def allows(self, ratio: Fraction) -> bool:
        """Decide ratio ≤ e^ε without rounding."""
        if ratio <= self.below:
            return True
        if self.exponent is None or ratio >= self.above:
            return False
        return log_at_most(ratio, self.exponent)

    @property
    def words(self) -> str:
        """How the user gave it: ``epsilon = 0.8`` or ``lift = 2``."""
        if self.exponent is not None:
            return f"epsilon = {self.epsilon:g}"
        # A float such as 1.1 is a fraction of thirty digits: the short decimal is what the user typed.
        exact = str(self.below)
        return f"lift = {exact if len(exact) <= 12 or self.below > 10**300 else float(self.below)}"


def level(epsilon: object = None, lift: object = None, *, name: str = "epsilon") -> Level:
    """The level for ``epsilon=`` or for ``lift=`` (exactly one of them).

    >>> level(lift=2).below, level(epsilon=0).above
    (Fraction(2, 1), Fraction(1, 1))
    """
    if (epsilon is None) == (lift is None):
        got = "neither" if epsilon is None else "both"
        raise InvalidInput(f"Give either {name}= (nats) or lift= (the factor e^ε). Got {got}.")
    if lift is not None:
        factor = exact_fraction(lift, "lift")
        if factor < 1:
            raise InvalidInput(f"lift must be at least 1 (1 reveals nothing). Got {lift!r} instead.")
        return Level(log_upper(factor), factor, factor, None)
    exponent = exact_fraction(epsilon, name)
    if exponent < 0:
        raise InvalidInput(f"{name} must be at least 0 (0 reveals nothing). Got {epsilon!r} instead.")
    if exponent > _LARGEST_EXPONENT:
        raise InvalidInput(
            f"{name} must be in nats, at most {_LARGEST_EXPONENT}. Got {epsilon!r} instead: "
            "no secret on a finite alphabet leaks that much."
        )
    return Level(float(exponent), exp_lower(exponent), exp_upper(exponent), exponent)
