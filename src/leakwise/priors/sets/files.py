"""Sets of priors as plain data: what a certificate file holds beside the nominal prior."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

import msgspec

from leakwise.alphabet import Alphabet
from leakwise.documents import read_integer, write_integer
from leakwise.errors import InvalidInput
from leakwise.priors.prior import Prior, PriorBody
from leakwise.priors.prior_set import PriorSet
from leakwise.priors.sets.all_priors import AllPriors
from leakwise.priors.sets.around_estimate import Around
from leakwise.priors.sets.ball import Ball
from leakwise.priors.sets.box import Box
from leakwise.priors.sets.hull import Hull
from leakwise.priors.sets.kl import KLBall
from leakwise.priors.sets.layer_cake import LayerCake
from leakwise.priors.sets.noisy import NoisyLayerCake
from leakwise.priors.sets.rounded import RoundedLayerCake

__all__ = ["NEW_SETS", "STORED_SETS", "SetBody", "set_from_body", "set_to_body"]


class RatioBody(msgspec.Struct, forbid_unknown_fields=True):
    """A rational number, none negative."""

    numerator: str
    denominator: str


class BallBody(msgspec.Struct, tag="ball", forbid_unknown_fields=True):
    """The l1 ball."""

    beta: RatioBody
    failure: RatioBody
    method: str | None = None


class BoxBody(msgspec.Struct, tag="box", forbid_unknown_fields=True):
    """The box, with an l1 radius or without."""

    lower: list[RatioBody]
    upper: list[RatioBody]
    failure: RatioBody
    beta: RatioBody | None = None
    method: str | None = None


class KLBody(msgspec.Struct, tag="kl", forbid_unknown_fields=True):
    """The Kullback-Leibler ball."""

    radius: RatioBody
    failure: RatioBody
    method: str | None = None


class HullBody(msgspec.Struct, tag="hull", forbid_unknown_fields=True):
    """The corners of a hull."""

    corners: list[PriorBody]
    failure: RatioBody
    method: str | None = None


class AllBody(msgspec.Struct, tag="all", forbid_unknown_fields=True):
    """Every prior."""


class LayerCakeBody(msgspec.Struct, tag="layer-cake", forbid_unknown_fields=True):
    """The layer cake: it follows from the counts and the failure."""

    failure: RatioBody
    method: str | None = None


class RoundedBody(msgspec.Struct, tag="rounded-layer-cake", forbid_unknown_fields=True):
    """The layer cakes of all tables with these rounded frequencies: the rows, and the parts of the values.

    Where the rows are those of several strata, ``own`` are those of the stratum itself.
    """

    rows: int
    parts: list[int]
    failure: RatioBody
    own: int | None = None


class NoisyBody(msgspec.Struct, tag="noisy-layer-cake", forbid_unknown_fields=True):
    """The layer cake of noisy counts: the rows, the counts with their noise, and what the noise cost in nats."""

    rows: int
    counts: list[int]
    cost: RatioBody
    failure: RatioBody


NEW_SETS = (RoundedLayerCake, NoisyLayerCake)
"""Kinds that the first version of the formats does not have."""
STORED_SETS = (AllPriors, Ball, Box, KLBall, Hull, LayerCake, *NEW_SETS)
SetBody: TypeAlias = BallBody | BoxBody | KLBody | HullBody | AllBody | LayerCakeBody | RoundedBody | NoisyBody


def set_to_body(priors: PriorSet) -> SetBody:
    """Return a set as a file body; its nominal prior is stored beside it."""
    if isinstance(priors, AllPriors):
        return AllBody()
    if isinstance(priors, Around):
        failure, method = _write(priors.exact_failure), priors.method
        if isinstance(priors, Ball):
            return BallBody(_write(priors.beta), failure, method)
        if isinstance(priors, Box):
            beta = None if priors.beta is None else _write(priors.beta)
            return BoxBody([_write(x) for x in priors.lower], [_write(x) for x in priors.upper], failure, beta, method)
        if isinstance(priors, KLBall):
            return KLBody(_write(priors.radius), failure, method)
        if isinstance(priors, Hull):
            return HullBody([corner.to_body() for corner in priors.corners], failure, method)
        if isinstance(priors, LayerCake):
            return LayerCakeBody(failure, method)
        if isinstance(priors, RoundedLayerCake):
            own = None if priors.own == priors.rows else priors.own
            return RoundedBody(priors.rows, list(priors.parts), failure, own)
        if isinstance(priors, NoisyLayerCake):
            return NoisyBody(priors.rows, list(priors.counts), _write(priors.cost), failure)
    raise InvalidInput(f"A certificate for a set of the kind {type(priors).__name__} cannot be stored.")


def set_from_body(body: SetBody, nominal: Prior, name: str) -> PriorSet:
    """Return the set around a nominal prior that a file body describes."""
    if isinstance(body, AllBody):
        return AllPriors(nominal)
    failure = _read(body.failure, name)
    if isinstance(body, (RoundedBody, NoisyBody)):
        found = _counted(body, nominal.alphabet, failure, name)
        if found.nominal != nominal:
            raise InvalidInput(f"{name!r} is damaged: a prior is not the one of its rounded or noisy counts.")
        return found
    method = body.method
    if isinstance(body, BallBody):
        return Ball(nominal, _read(body.beta, name), failure, method)
    if isinstance(body, BoxBody):
        lower, upper = ([_read(x, name) for x in side] for side in (body.lower, body.upper))
        return Box(nominal, lower, upper, None if body.beta is None else _read(body.beta, name), failure, method)
    if isinstance(body, KLBody):
        return KLBall(nominal, _read(body.radius, name), failure, method)
    if isinstance(body, HullBody):
        return Hull([Prior.from_body(corner, name) for corner in body.corners], nominal, failure, method)
    return LayerCake(nominal, failure, method)


def _counted(body: RoundedBody | NoisyBody, letters: Alphabet, failure: Fraction, name: str) -> PriorSet:
    if isinstance(body, RoundedBody):
        return RoundedLayerCake.of_parts(letters, body.parts, body.rows, failure, body.own)
    return NoisyLayerCake(letters, body.counts, body.rows, _read(body.cost, name), failure)


def _write(value: Fraction) -> RatioBody:
    return RatioBody(write_integer(value.numerator), write_integer(value.denominator))


def _read(body: RatioBody, name: str) -> Fraction:
    denominator = read_integer(body.denominator, name)
    if not denominator:
        raise InvalidInput(f"{name!r} is damaged: it holds a fraction over zero.")
    return Fraction(read_integer(body.numerator, name), denominator)
