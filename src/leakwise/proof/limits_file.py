"""Limits as certificates store them: exact rationals, values by their places among the letters."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import msgspec

from leakwise.alphabet import Alphabet
from leakwise.documents import read_integer, write_integer
from leakwise.errors import InvalidInput
from leakwise.exact import Level, level
from leakwise.proof.limits import NO_LIMITS, AskedLimits

__all__ = [
    "LevelBody",
    "LimitsBody",
    "Pair",
    "TotalLimitsBody",
    "level_body",
    "level_from_body",
    "limits_body",
    "limits_from_body",
    "numbers_body",
    "numbers_from_body",
]

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


class TotalLimitsBody(LimitsBody, forbid_unknown_fields=True):
    """Limits with one on all outcomes together; those without are stored as they always were."""

    maximal_leakage: LevelBody | None = None
    envelope: tuple[LevelBody, Pair] | None = None


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
    body = LimitsBody(
        level_body(limits.anyone),
        level_body(limits.lip),
        [(place[label], _stored(most)) for label, most in limits.lift_of],
        [([place[label] for label in values], _pair(most)) for values, most in limits.ceiling],
        [(place[label], _pair(least)) for label, least in limits.floor],
    )
    if limits.in_total is None:
        return body
    survives = None if limits.envelope is None else (_stored(limits.envelope[0]), _pair(limits.envelope[1]))
    return TotalLimitsBody(
        **msgspec.structs.asdict(body), maximal_leakage=level_body(limits.maximal_leakage), envelope=survives
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
        *_totals(body, name),
    )


def _totals(body: LimitsBody, name: str) -> tuple[Level | None, tuple[Level, Fraction] | None]:
    """The limits on all outcomes together, where the file has any."""
    if not isinstance(body, TotalLimitsBody):
        return None, None
    most = None if body.envelope is None else level_from_body(body.envelope[0], name)
    share = None if body.envelope is None else _fraction(body.envelope[1], name)
    if share is not None and not 0 < share < 1:
        raise InvalidInput(f"{name!r} is not a valid certificate: its δ is not a probability.")
    envelope = None if most is None or share is None else (most, share)
    return level_from_body(body.maximal_leakage, name), envelope


def numbers_body(numbers: Sequence[Fraction]) -> list[Pair]:
    """Return rational numbers as they are stored."""
    return [_pair(value) for value in numbers]


def numbers_from_body(body: Sequence[Pair], name: str) -> tuple[Fraction, ...]:
    """Read rational numbers back."""
    return tuple(_fraction(pair, name) for pair in body)


def _stored(asked: Level) -> LevelBody:
    return LevelBody(asked.stored[0], *_pair(asked.stored[1]))


def _pair(value: Fraction) -> Pair:
    return write_integer(value.numerator), write_integer(value.denominator)


def _fraction(pair: Pair, name: str) -> Fraction:
    numerator, denominator = (read_integer(part, name) for part in pair)
    if not denominator:
        raise InvalidInput(f"{name!r} is not a valid certificate: it asks for a limit over zero.")
    return Fraction(numerator, denominator)
