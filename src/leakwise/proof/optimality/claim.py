"""The claim "no mechanism within these bounds is better", as data and as it is stored."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np

from leakwise.alphabet import Label, alphabet_from_plain, label_to_plain
from leakwise.documents import read_integer, write_integer
from leakwise.errors import InvalidInput
from leakwise.guarantee import at_least, at_most
from leakwise.mechanism import Mechanism
from leakwise.proof.optimality.functions import FUNCTIONS
from leakwise.types import Floats

__all__ = ["KeptBody", "OptimalityBody", "OptimalityClaim", "TotalBody", "claim_from_body", "claim_to_body"]

Pair = tuple[str, str]


class OptimalityBody(msgspec.Struct, forbid_unknown_fields=True):
    """The claim in a file: rationals as pairs of integers, floats as exact hexadecimal text."""

    utility: str
    low: Pair
    high: Pair | None
    value: str
    bound: str
    duals: list[str]
    gains: list[list[str]] | None = None
    ldp: Pair | None = None
    root: list[list[str]] | None = None
    guesses: list[Any] | None = None


class KeptBody(OptimalityBody, forbid_unknown_fields=True):
    """A claim about mechanisms that keep the frequencies; one about all others is stored as it always was."""

    kept: Pair | None = None


class TotalBody(KeptBody, forbid_unknown_fields=True):
    """A claim about mechanisms of limited maximal leakage."""

    total: Pair | None = None


@dataclass(frozen=True, eq=False)
class OptimalityClaim:
    """No mechanism within the bounds has a utility above ``bound``; this one has at least ``value``.

    Attributes
    ----------
    utility
        The name of an f-information, ``"guessing"``, ``"gain"`` with the matrix ``gains`` (letters × guesses), or
        ``"frequencies"``; or ``"margin"``, minus the largest variance of the contrasts in ``gains`` (letters ×
        contrasts), in units of what is allowed: this mechanism reaches -1, and none within the bounds does.
    low, high
        The lifts that are allowed, at the prior or at every prior of the set; ``high`` is None where only LDP bounds
        them.
    ldp
        The largest ratio within a column, for local differential privacy.
    duals
        One number per letter of positive mass; none for the chords of f, which the checker knows itself. For
        ``frequencies`` without ``root``: the multipliers d, v of the trace bound, or four for each number of letters
        that a uniform prior may be on. For ``margin`` the shares of the contrasts come first.
    root
        For ``frequencies``: a matrix H close to J⁻¹; for ``margin`` close to its product with the contrasts.
    guesses
        For gains whose outputs have labels: the labels of the columns of ``gains``.
    kept
        Where only mechanisms are compared whose outcomes are the values and come as often: how much each outcome's
        probability may differ from that of its value.
    total
        Where only mechanisms of limited maximal leakage are compared: e to it. The last of the duals is its price.
    """

    utility: str
    low: Fraction
    high: Fraction | None
    value: float
    bound: float
    duals: Floats
    gains: Floats | None = None
    ldp: Fraction | None = None
    root: Floats | None = None
    guesses: tuple[Label, ...] | None = None
    kept: Fraction | None = None
    total: Fraction | None = None

    @staticmethod
    def speaks_of(utility: str) -> bool:
        """Return whether the checker knows a utility by name."""
        return utility in FUNCTIONS or utility in ("guessing", "frequencies")

    @property
    def rows(self) -> list[list[str]]:
        """The claim as rows of a table."""
        if self.utility == "margin":
            return [
                ["largest variance, of what margins allow", at_most(-self.value, 6)],
                ["of any mechanism at least", at_least(-self.bound, 6)],
                ["that is, of all with", self.words],
            ]
        return [
            [f"{self.utility} of at least", at_least(self.value, 6)],
            ["of any mechanism at most", at_most(self.bound, 6)],
            ["that is, of all with", self.words],
        ]

    @property
    def words(self) -> str:
        """What the mechanism is compared with, in words."""
        parts = []
        if self.high is not None:
            lower = "" if not self.low else f"from {float(self.low):.6g} "
            parts.append(f"lifts {lower}up to {float(self.high):.6g}")
        if self.ldp is not None:
            parts.append(f"rows within a factor of {float(self.ldp):.6g}")
        if self.kept is not None:
            within = f" (within {float(self.kept):.1e})" if self.kept else ""
            parts.append(f"outcomes as frequent as the values{within}")
        if self.total is not None:
            parts.append(f"a maximal leakage up to {math.log(self.total):.6g}")
        return " and ".join(parts)


def _pair(value: Fraction | None) -> Pair | None:
    return None if value is None else (write_integer(value.numerator), write_integer(value.denominator))


def _matrix(values: Floats | None) -> list[list[str]] | None:
    return None if values is None else [[float(value).hex() for value in row] for row in values]


def claim_to_body(claim: OptimalityClaim) -> OptimalityBody:
    """Return a claim as it is stored."""
    low = _pair(claim.low)
    assert low is not None
    body = OptimalityBody(
        claim.utility,
        low,
        _pair(claim.high),
        claim.value.hex(),
        claim.bound.hex(),
        [float(dual).hex() for dual in claim.duals],
        _matrix(claim.gains),
        _pair(claim.ldp),
        _matrix(claim.root),
        None if claim.guesses is None else [label_to_plain(label) for label in claim.guesses],
    )
    parts = msgspec.structs.asdict(body)
    if claim.total is not None:
        return TotalBody(**parts, kept=_pair(claim.kept), total=_pair(claim.total))
    return body if claim.kept is None else KeptBody(**parts, kept=_pair(claim.kept))


def claim_from_body(body: TotalBody, mechanism: Mechanism, name: str) -> OptimalityClaim:
    """Return a stored claim, unchecked but well formed."""

    def rational(pair: Pair | None) -> Fraction | None:
        return None if pair is None else Fraction(read_integer(pair[0], name), read_integer(pair[1], name))

    def matrix(rows: list[list[str]] | None) -> Floats | None:
        return None if rows is None else np.array([[float.fromhex(value) for value in row] for row in rows])

    try:
        pairs = (body.low, body.high, body.ldp, body.kept, body.total)
        low, high, ldp, kept, total = (rational(pair) for pair in pairs)
        value, bound = float.fromhex(body.value), float.fromhex(body.bound)
        duals = np.array([float.fromhex(dual) for dual in body.duals])
        gains, root = matrix(body.gains), matrix(body.root)
    except (ValueError, ZeroDivisionError, OverflowError) as error:
        raise InvalidInput(f"{name!r} is not a valid certificate: its proof of optimality is damaged.") from error
    assert low is not None
    letters = mechanism.shape[0]
    if body.utility in ("gain", "margin"):
        known = gains is not None and gains.ndim == 2 and len(gains) == letters and bool(np.isfinite(gains).all())
    else:
        known = OptimalityClaim.speaks_of(body.utility) and gains is None
    known &= root is None or (body.utility in ("frequencies", "margin") and root.ndim == 2)
    guesses = None
    if body.guesses is not None:
        guesses = alphabet_from_plain(body.guesses, declared=True, name=name).labels
        known &= gains is not None and gains.ndim == 2 and len(guesses) == gains.shape[1]
    known &= kept is None or guesses == mechanism.inputs
    # -∞ is the value, and the bound, of frequencies that no mechanism can tell.
    numbers = [number for number in (value, bound) if not (number == -math.inf and body.utility == "frequencies")]
    if not known or not all(map(math.isfinite, numbers)) or (high is None and ldp is None):
        raise InvalidInput(f"{name!r} is not a valid certificate: its proof of optimality speaks of something else.")
    return OptimalityClaim(body.utility, low, high, value, bound, duals, gains, ldp, root, guesses, kept, total)
