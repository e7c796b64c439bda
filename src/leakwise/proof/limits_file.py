"""Limits as certificates store them: exact rationals, values by their places among the letters."""

from __future__ import annotations

from fractions import Fraction

import msgspec

from leakwise.alphabet import Alphabet
from leakwise.documents import read_integer, write_integer
from leakwise.errors import InvalidInput
from leakwise.exact import Level, level
from leakwise.proof.limits import NO_LIMITS, AskedLimits

__all__ = ["LevelBody", "LimitsBody", "level_body", "level_from_body", "limits_body", "limits_from_body"]

Pair = tuple[str, str]


class LevelBody(msgspec.Struct, forbid_unknown_fields=True):
    """A bound as the exact rational the user gave: an exponent, or the factor itself."""

    kind: str  # "epsilon" | "lift"
    numerator: str
    denominator: str


class LimitsBody(msgspec.Struct, forbid_unknown_fields=True):
    """The further limits: values by their places among the letters, numbers as pairs of integers."""

    anyone: LevelBody | None
    lip: LevelBody | None
    lift_of: list[tuple[int, LevelBody]]
    ceiling: list[tuple[list[int], Pair]]
    floor: list[tuple[int, Pair]]


def level_body(asked: Level | None) -> LevelBody | None:
    """Return a level as it is stored."""
    return None if asked is None else _stored(asked)


def level_from_body(body: LevelBody | None, name: str) -> Level | None:
    """Read a level back."""
    if body is None:
        return None
    if body.kind not in ("epsilon", "lift"):
        raise InvalidInput(f"{name!r} is not a valid certificate: it asks for {body.kind!r}.")
    value = _fraction((body.numerator, body.denominator), name)
    return level(value) if body.kind == "epsilon" else level(lift=value)


def limits_body(limits: AskedLimits, letters: Alphabet) -> LimitsBody:
    """Return the further limits as they are stored."""
    place = letters.index
    return LimitsBody(
        level_body(limits.anyone),
        level_body(limits.lip),
        [(place[label], _stored(most)) for label, most in limits.lift_of],
        [([place[label] for label in values], _pair(most)) for values, most in limits.ceiling],
        [(place[label], _pair(least)) for label, least in limits.floor],
    )


def limits_from_body(body: LimitsBody | None, letters: Alphabet, name: str) -> AskedLimits:
    """Read the further limits back."""
    if body is None:
        return NO_LIMITS
    places = [place for place, _ in (*body.lift_of, *body.floor)]
    places += [place for several, _ in body.ceiling for place in several]
    if not all(0 <= place < len(letters) for place in places) or not all(several for several, _ in body.ceiling):
        raise InvalidInput(f"{name!r} is not a valid certificate: it limits a value that the secret does not have.")
    labels = letters.labels
    lifts = [(labels[place], level_from_body(most, name)) for place, most in body.lift_of]
    return AskedLimits(
        None,
        level_from_body(body.anyone, name),
        level_from_body(body.lip, name),
        tuple((label, most) for label, most in lifts if most is not None),
        tuple((tuple(labels[place] for place in several), _fraction(most, name)) for several, most in body.ceiling),
        tuple((labels[place], _fraction(least, name)) for place, least in body.floor),
    )


def _stored(asked: Level) -> LevelBody:
    return LevelBody(asked.stored[0], *_pair(asked.stored[1]))


def _pair(value: Fraction) -> Pair:
    return write_integer(value.numerator), write_integer(value.denominator)


def _fraction(pair: Pair, name: str) -> Fraction:
    numerator, denominator = (read_integer(part, name) for part in pair)
    if not denominator:
        raise InvalidInput(f"{name!r} is not a valid certificate: it asks for a limit over zero.")
    return Fraction(numerator, denominator)
