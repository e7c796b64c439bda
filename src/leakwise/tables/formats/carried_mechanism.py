"""The mechanism that a released table carries with it, in the metadata of Parquet and Arrow files.

Whoever receives the table can then estimate from it without being told how it was made. The mechanism is no secret:
what protects the rows is the randomness of each draw.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from leakwise.alphabet import label_from_plain, label_to_plain
from leakwise.errors import InvalidInput, LeakwiseError, LeakwiseWarning, some_of
from leakwise.mechanism import AnyMechanism, Mechanism, StratifiedMechanism
from leakwise.mechanism.files import MechanismBody, mechanism_from_body, mechanism_to_body
from leakwise.mechanism.stratified_file import StratifiedBody, stratified_from_body, stratified_to_body, version_of

__all__ = [
    "KEY",
    "Carried",
    "after_earlier",
    "carried_secrets",
    "choose_carried",
    "drawn_from_seed",
    "metadata_of",
    "pack",
]

KEY = b"leakwise.release"
VERSION = 3
"""Of bins with infinite edges or of dates; 2 of a release by strata; others are written as 1, which all can read."""

# A footer is read whole by everybody who opens the file.
_LARGEST = 16 << 20


class _SecretBody(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    columns: list[Any]
    mechanism: MechanismBody | None = None
    stratified: StratifiedBody | None = None


class _VersionBody(msgspec.Struct):
    version: int


class _ReleaseBody(msgspec.Struct, omit_defaults=True):
    version: int
    secrets: list[_SecretBody]
    unsafe_seed: bool = False


@dataclass(frozen=True)
class Carried:
    """One released secret of a table: its columns and its mechanism."""

    names: tuple[Any, ...]
    mechanism: AnyMechanism


def pack(secrets: Sequence[Carried], before: Mapping[bytes, bytes], *, unsafe_seed: bool = False) -> dict[bytes, bytes]:
    """Return the metadata that says how the columns were released, beside what an earlier release of others said.

    Columns that were released before get the two mechanisms one after the other, so that estimates are of the values
    that the first one read.

    ``unsafe_seed`` says that the draws can be repeated by anyone who knows the seed; the seed itself is not written.
    """
    named = {name for secret in secrets for name in secret.names}
    earlier = carried_secrets(before, "the source")
    whole = [
        after_earlier(one, [other for other in earlier if set(one.names).intersection(other.names)]) for one in secrets
    ]
    bodies = [_body(one) for one in (*(other for other in earlier if not named.intersection(other.names)), *whole)]
    version = 2 if any(body.stratified is not None for body in bodies) else 1
    version = max([version, *(version_of(one.mechanism, VERSION) for one in (*earlier, *whole))])
    packed = msgspec.json.encode(
        _ReleaseBody(version, bodies, unsafe_seed or drawn_from_seed(before)), order="deterministic"
    )
    if len(packed) > _LARGEST:
        warnings.warn(
            f"The mechanism takes {len(packed) >> 20} MB and is not put into the released file. Save it beside it: "
            "mechanism.save(path).",
            LeakwiseWarning,
            stacklevel=2,
        )
        return {}
    return {KEY: packed}


def _body(secret: Carried) -> _SecretBody:
    columns = [label_to_plain(name) for name in secret.names]
    if isinstance(secret.mechanism, StratifiedMechanism):
        return _SecretBody(columns, stratified=stratified_to_body(secret.mechanism))
    return _SecretBody(columns, mechanism_to_body(secret.mechanism))


def _mechanism(body: _SecretBody, name: str) -> AnyMechanism:
    if body.stratified is not None:
        return stratified_from_body(body.stratified, name)
    if body.mechanism is None:
        raise InvalidInput(f"{name} names no mechanism for {some_of(body.columns)}.")
    return mechanism_from_body(body.mechanism, name)


def after_earlier(secret: Carried, earlier: Sequence[Carried]) -> Carried:
    """Return the release of a secret after earlier ones of its columns, as one mechanism."""
    if not earlier:
        return secret
    first = earlier[0]
    if first.names != secret.names:
        raise InvalidInput(
            f"{some_of(first.names)} was released before as one secret, and {some_of(secret.names)} cannot be released "
            "on top of it: nothing could be estimated from the result. Release from the original table."
        )
    if isinstance(first.mechanism, StratifiedMechanism) or isinstance(secret.mechanism, StratifiedMechanism):
        raise InvalidInput(
            f"{some_of(secret.names)} was released before. Release from the original table: what a second release of "
            "outcomes by strata tells cannot be estimated."
        )
    index = secret.mechanism.input_alphabet.index
    if missing := [label for label in first.mechanism.outputs if label not in index]:
        raise InvalidInput(
            f"{some_of(secret.names)} was released before, with the outcomes {some_of(first.mechanism.outputs)}. A "
            f"release of these outcomes must have a row for each of them; {some_of(missing)} has none. Release from "
            "the original table, or declare the outcomes as the domain."
        )
    rows = np.array([index[label] for label in first.mechanism.outputs], dtype=np.intp)
    kernel = first.mechanism.kernel.then(secret.mechanism.kernel.take_rows(rows))
    both = Mechanism.from_kernel(kernel, first.mechanism.input_alphabet, secret.mechanism.output_alphabet)
    return Carried(secret.names, both)


def drawn_from_seed(metadata: Mapping[bytes, bytes]) -> bool:
    """Whether a table says that its outcomes were drawn from a seed, for tests, so that nothing protects them."""
    packed = metadata.get(KEY)
    try:
        return packed is not None and msgspec.json.decode(packed, type=_ReleaseBody).unsafe_seed
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False  # said by carried_secrets, which reads the rest


def carried_secrets(metadata: Mapping[bytes, bytes], name: str) -> list[Carried]:
    """Return what a table says about its release; nothing where it does not speak of one."""
    packed = metadata.get(KEY)
    if packed is None:
        return []
    try:
        if msgspec.json.decode(packed, type=_VersionBody).version > VERSION:
            raise InvalidInput(f"{name} was released by a newer Leakwise. Update with: pip install -U leakwise")
        body = msgspec.json.decode(packed, type=_ReleaseBody)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"What {name} says about its release is damaged: {error}. Give the mechanism.") from error
    try:
        return [Carried(tuple(map(label_from_plain, one.columns)), _mechanism(one, name)) for one in body.secrets]
    except LeakwiseError as error:
        raise InvalidInput(f"What {name} says about its release is damaged: {error} Give the mechanism.") from error


def metadata_of(table: Any) -> Mapping[bytes, bytes]:
    """Return what an Arrow table in memory carries; nothing for tables of other kinds."""
    if not type(table).__module__.startswith("pyarrow"):
        return {}
    metadata = getattr(getattr(table, "schema", None), "metadata", None)
    return metadata if isinstance(metadata, Mapping) and KEY in metadata else {}


def choose_carried(metadata: Mapping[bytes, bytes], column: Any, name: str) -> Carried:
    """Return the released secret that the user means; the only one if no column is named."""
    found = carried_secrets(metadata, name)
    if not found:
        raise InvalidInput(
            f"mechanism must be given: {name} does not carry the one it was released by. (Parquet and Arrow files that "
            "Leakwise wrote do, and tables of PostgreSQL; CSV, JSON, DuckDB and SQLite have no place for it.) Give the "
            "file that was saved with the release: lw.Mechanism.load or lw.StratifiedMechanism.load reads it, and so "
            "does -m FILE."
        )
    titles = [one.names[0] if len(one.names) == 1 else one.names for one in found]
    if column is None and len(found) == 1:
        return found[0]
    wanted = tuple(column) if isinstance(column, (list, tuple)) else (column,)
    for one in found:
        if one.names == wanted:
            return one
    raise InvalidInput(
        f"column must be one that was released: {some_of(titles)}. Got {column!r} instead."
        if column is not None
        else f"column must say which of the released columns is meant: {some_of(titles)}."
    )
