"""Mechanisms by stratum as files: every different mechanism once, then which stratum has which."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from leakwise.alphabet import GivenBody, GivenColumns, label_from_plain, label_to_plain, newest
from leakwise.documents import document_format, read_document, to_plain, write_document
from leakwise.errors import InvalidInput
from leakwise.mechanism.files import (
    MechanismBody,
    load_mechanism,
    mechanism_from_body,
    mechanism_to_body,
    refuse_interrupted,
)
from leakwise.mechanism.stratified import AnyMechanism, StratifiedMechanism

__all__ = [
    "FORMAT",
    "StratifiedBody",
    "load_any",
    "load_stratified",
    "save_stratified",
    "stratified_from_body",
    "stratified_to_body",
    "stratified_to_plain",
]

FORMAT = "leakwise.stratified-mechanism"
VERSION = 2  # 2: bins with infinite edges, and of dates


class StratumBody(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A stratum, the place of its mechanism, and the codes of the values that cannot occur in it."""

    stratum: Any
    mechanism: int
    impossible: list[int] = []


class StratifiedBody(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The contents of the file."""

    given: GivenBody
    mechanisms: list[MechanismBody]
    strata: list[StratumBody]
    otherwise: int | None = None
    secret: Any = None
    outcomes_digest: str | None = None


def stratified_to_body(mechanism: StratifiedMechanism) -> StratifiedBody:
    """Return the mechanisms as a file body."""
    index = mechanism.input_alphabet.index
    strata = [
        StratumBody(label_to_plain(key), place, [index[value] for value in mechanism.impossible(key)])
        for key, place in mechanism.numbered.items()
    ]
    places = {id(one): place for place, one in enumerate(mechanism.mechanisms)}
    return StratifiedBody(
        mechanism.given_columns.to_body(),
        [mechanism_to_body(one) for one in mechanism.mechanisms],
        strata,
        None if mechanism.otherwise is None else places[id(mechanism.otherwise)],
        label_to_plain(mechanism.secret),
    )


def stratified_from_body(body: StratifiedBody, name: str) -> StratifiedMechanism:
    """Return the mechanisms that a body describes, checked as if a stranger had typed it."""
    mechanisms = [mechanism_from_body(one, name) for one in body.mechanisms]
    places = [one.mechanism for one in body.strata] + ([] if body.otherwise is None else [body.otherwise])
    if not all(0 <= place < len(mechanisms) for place in places):
        raise InvalidInput(f"{name!r} is damaged: a stratum has a mechanism that is not in the file.")
    strata = [label_from_plain(one.stratum) for one in body.strata]
    if len(set(strata)) < len(strata):
        raise InvalidInput(f"{name!r} is damaged: a stratum stands in it twice.")
    size = len(mechanisms[0].inputs) if mechanisms else 0
    if not all(0 <= code < size for one in body.strata for code in one.impossible):
        raise InvalidInput(f"{name!r} is damaged: a value that cannot occur is none of the values.")
    return StratifiedMechanism(
        {key: mechanisms[one.mechanism] for key, one in zip(strata, body.strata, strict=True)},
        GivenColumns.from_body(body.given, name),
        secret=label_from_plain(body.secret),
        impossible={
            key: [mechanisms[0].inputs[code] for code in one.impossible]
            for key, one in zip(strata, body.strata, strict=True)
        },
        otherwise=None if body.otherwise is None else mechanisms[body.otherwise],
    )


def stratified_to_plain(mechanism: StratifiedMechanism) -> dict[str, Any]:
    """Return the mechanisms as plain data."""
    return to_plain(stratified_to_body(mechanism))


def save_stratified(
    mechanism: StratifiedMechanism, path: str | os.PathLike[str], *, outcomes_digest: str | None = None
) -> None:
    """Write the file, with the digest of the outcomes of the table that it belongs to, if there is one."""
    body = stratified_to_body(mechanism)
    body.outcomes_digest = outcomes_digest
    write_document(path, FORMAT, version_of(mechanism), body)


def version_of(mechanism: AnyMechanism, latest: int = VERSION) -> int:
    """Return the version of a file that has a mechanism: the first, unless some bins need the latest."""
    given = mechanism.given_columns.domains if isinstance(mechanism, StratifiedMechanism) else ()
    return newest(1, latest, mechanism.input_alphabet, mechanism.output_alphabet, *given)


def load_stratified(path: str | os.PathLike[str]) -> StratifiedMechanism:
    """Read the file."""
    body = read_document(path, FORMAT, VERSION, StratifiedBody)
    refuse_interrupted(path, body.outcomes_digest)
    mechanism = stratified_from_body(body, str(path))
    object.__setattr__(mechanism, "outcomes_digest", body.outcomes_digest)
    return mechanism


def load_any(path: str | os.PathLike[str]) -> AnyMechanism:
    """Read a file of one mechanism, or of one for each stratum."""
    return load_stratified(path) if document_format(path) == FORMAT else load_mechanism(path)
