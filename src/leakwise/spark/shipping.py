"""What travels to the executors: the mechanisms as documents, bytes that say everything and hold no open state.

Nothing of a sampler or a random stream is ever pickled: each task builds its own from the document.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from leakwise.alphabet import Alphabet, alphabet_from_plain, alphabet_with_edges, edges_of, label_to_plain
from leakwise.errors import InvalidInput
from leakwise.mechanism import AnyMechanism, Mechanism, StratifiedMechanism
from leakwise.mechanism.files import MechanismBody, mechanism_from_body, mechanism_to_body
from leakwise.mechanism.stratified_file import StratifiedBody, stratified_from_body, stratified_to_body
from leakwise.tables.kinds.joint_columns import Product
from leakwise.tables.release.secret_columns import Secret

__all__ = ["Shipment", "pack_shipment", "unpack_shipment"]

VERSION = 4


class _PartBody(msgspec.Struct, forbid_unknown_fields=True):
    labels: list[Any]
    edges: list[float | str] | None


class _SecretBody(msgspec.Struct, forbid_unknown_fields=True):
    columns: list[str]
    mechanism: MechanismBody | None
    stratified: StratifiedBody | None
    # The domains of the columns of a joint secret, where they were declared one by one: some may be bins of numbers.
    parts: list[_PartBody] | None


class _ReleaseBody(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    columns: list[str]
    secrets: list[_SecretBody]
    # Columns of random integers to add.
    keys: list[str]
    # For each column the values by whose places it is sent; None for one that is sent as it is.
    known: list[list[str | int] | None]


@dataclass(frozen=True)
class Shipment:
    """The names of the columns in their order, the secrets among them, columns of random integers to add.

    A column with ``known`` values comes as two: the places of its values among them, and those that are not.
    """

    columns: list[str]
    secrets: list[Secret]
    keys: list[str]
    known: list[list[str | int] | None]


def pack_shipment(
    columns: Sequence[str],
    secrets: Sequence[Secret],
    keys: Sequence[str] = (),
    known: Sequence[list[str | int] | None] | None = None,
) -> bytes:
    """Return the columns and their mechanisms as one document."""
    bodies = [
        _SecretBody(
            [str(name) for name in one.names],
            mechanism_to_body(own) if isinstance(own, Mechanism) else None,
            stratified_to_body(own) if isinstance(own, StratifiedMechanism) else None,
            _parts(own),
        )
        for one in secrets
        for own in [one.mechanism]
    ]
    body = _ReleaseBody(VERSION, list(columns), bodies, list(keys), list(known or [None for _ in columns]))
    return msgspec.json.encode(body)


def unpack_shipment(document: bytes) -> Shipment:
    """Return the columns and mechanisms of a document, checked as if a stranger had sent it."""
    try:
        body = msgspec.json.decode(document, type=_ReleaseBody)
    except msgspec.DecodeError as error:
        raise InvalidInput(
            f"The mechanism that came from the driver cannot be read here: {error}. Install the same version of "
            "leakwise on the driver and on all executors."
        ) from error
    secrets = [Secret(tuple(one.columns), _mechanism(one)) for one in body.secrets]
    return Shipment(body.columns, secrets, body.keys, body.known)


def _parts(mechanism: AnyMechanism) -> list[_PartBody] | None:
    letters = mechanism.input_alphabet
    if not isinstance(letters, Product):
        return None
    return [_PartBody([label_to_plain(label) for label in part.labels], edges_of(part)) for part in letters.parts]


def _mechanism(body: _SecretBody) -> AnyMechanism:
    name = "the mechanism from the driver"
    found: AnyMechanism
    if body.stratified is not None:
        found = stratified_from_body(body.stratified, name)
    elif body.mechanism is not None:
        found = mechanism_from_body(body.mechanism, name)
    else:
        raise InvalidInput(f"The document from the driver names no mechanism for {body.columns}.")
    if body.parts is None:
        return found
    parts: list[Alphabet] = [
        alphabet_with_edges(alphabet_from_plain(part.labels, declared=True, name=name), part.edges, name=name)
        for part in body.parts
    ]
    letters = Product(parts)
    if isinstance(found, Mechanism):
        return _over(found, letters)
    whole = {id(one): _over(one, letters) for one in found.mechanisms}
    return StratifiedMechanism(
        {key: whole[id(one)] for key, one, _ in found.cells()},
        found.given_columns,
        secret=found.secret,
        impossible=found.zeros,
        otherwise=None if found.otherwise is None else whole[id(found.otherwise)],
    )


def _over(mechanism: Mechanism, letters: Product) -> Mechanism:
    return Mechanism.from_kernel(mechanism.kernel, letters, mechanism.output_alphabet)
