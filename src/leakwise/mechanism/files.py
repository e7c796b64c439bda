"""Mechanism files: versioned JSON, integers as text, checked again when read."""

from __future__ import annotations

import os
from typing import Any

import msgspec
import numpy as np

from leakwise.alphabet import alphabet_from_plain, alphabet_with_edges, edges_of, label_to_plain, newest
from leakwise.documents import read_document, read_integer, to_plain, write_document, write_integer
from leakwise.errors import InvalidInput
from leakwise.mechanism.code_kernel import CodeKernel, Places
from leakwise.mechanism.kernel import CommonLawKernel, DenseKernel, Kernel
from leakwise.mechanism.mechanism import Mechanism
from leakwise.mechanism.set_mechanism import EachValue, SetMechanism, SoMany

__all__ = [
    "NEXT",
    "MechanismBody",
    "load_mechanism",
    "mechanism_from_body",
    "mechanism_to_body",
    "mechanism_to_plain",
    "refuse_interrupted",
    "save_mechanism",
    "sets_to_body",
]

FORMAT = "leakwise.mechanism"
# 2: the edges of bins; 3: the digest of the outcomes that were released; 4: codes; 5: infinite edges, and dates;
# 6: sets of values that are not listed
CODES, EDGES, VERSION = 4, 5, 6

NEXT = ".next"
"""Ends the name of a mechanism file while the table that it belongs to is being replaced."""


class DenseBody(msgspec.Struct, tag="dense", forbid_unknown_fields=True):
    """All integers, row by row."""

    denominator: str
    weights: list[list[str]]


class CommonLawBody(msgspec.Struct, tag="common-law", forbid_unknown_fields=True):
    """The common law; the diagonal follows from the denominator."""

    denominator: str
    common: list[str]


class CodeBody(msgspec.Struct, tag="code", forbid_unknown_fields=True):
    """The words of the letters, and the weights of the windows place by place."""

    denominator: str
    symbols: int
    raised: int
    digits: int
    words: list[int]
    low: list[list[str]]
    step: list[str]


class EachValueBody(msgspec.Struct, tag="each-value", forbid_unknown_fields=True):
    """Sets that are not listed: how often the true value is in one, and any other; over 2^60."""

    keep: str
    rise: str


class SoManyBody(msgspec.Struct, tag="so-many", forbid_unknown_fields=True):
    """Sets of one size that are not listed: how often the true value is in one, over 2^60; None for any set."""

    size: int
    own: str | None


ListedBody = DenseBody | CommonLawBody | CodeBody
AnyBody = ListedBody | EachValueBody | SoManyBody


class MechanismBody(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What a mechanism file holds. Without bins and digest it is what version 1 held."""

    inputs: list[Any]
    inputs_declared: bool
    outputs: list[Any]
    outputs_declared: bool
    kernel: AnyBody
    input_edges: list[float | str] | None = None
    output_edges: list[float | str] | None = None
    outcomes_digest: str | None = None


def mechanism_to_body(mechanism: Mechanism) -> MechanismBody:
    """Return the mechanism as a file body; one that is not listed has a file of its own only."""
    kernel = mechanism.kernel
    body: AnyBody
    if isinstance(kernel, CommonLawKernel):
        body = CommonLawBody(
            write_integer(kernel.denominator), [write_integer(weight) for weight in kernel.common.tolist()]
        )
    elif isinstance(kernel, CodeKernel):
        body = CodeBody(
            write_integer(kernel.denominator),
            kernel.places.q,
            kernel.places.raised,
            kernel.places.digits,
            kernel.words.tolist(),
            [[write_integer(weight) for weight in row] for row in kernel.low.tolist()],
            [write_integer(weight) for weight in kernel.step.tolist()],
        )
    else:
        rows = [[write_integer(weight) for weight in row] for row in kernel.weights.tolist()]
        body = DenseBody(write_integer(kernel.denominator), rows)
    return MechanismBody(
        [label_to_plain(label) for label in mechanism.inputs],
        mechanism.input_alphabet.declared,
        [label_to_plain(label) for label in mechanism.outputs],
        mechanism.output_alphabet.declared,
        body,
        edges_of(mechanism.input_alphabet),
        edges_of(mechanism.output_alphabet),
    )


def sets_to_body(mechanism: SetMechanism) -> MechanismBody:
    """Return a mechanism over sets that are not listed as a file body."""
    rule, own = mechanism.rule, mechanism.input_alphabet
    body: AnyBody
    if isinstance(rule, EachValue):
        body = EachValueBody(write_integer(rule.keep), write_integer(rule.rise))
    else:
        body = SoManyBody(rule.size, None if rule.own is None else write_integer(rule.own))
    return MechanismBody([label_to_plain(label) for label in own.labels], own.declared, [], True, body, edges_of(own))


def mechanism_to_plain(mechanism: Mechanism) -> dict[str, Any]:
    """Return the mechanism as plain data."""
    return to_plain(sets_to_body(mechanism) if isinstance(mechanism, SetMechanism) else mechanism_to_body(mechanism))


def mechanism_from_body(body: MechanismBody, name: str) -> Mechanism:
    """Return the mechanism that a body describes, checked as if a stranger had typed it."""
    inputs = alphabet_from_plain(body.inputs, declared=body.inputs_declared, name=name)
    inputs = alphabet_with_edges(inputs, body.input_edges, name=name)
    if isinstance(body.kernel, EachValueBody | SoManyBody):
        return SetMechanism(inputs, _rule(body.kernel, name))
    outputs = alphabet_from_plain(body.outputs, declared=body.outputs_declared, name=name)
    outputs = alphabet_with_edges(outputs, body.output_edges, name=name)
    return Mechanism.from_kernel(_kernel(body.kernel, name), inputs, outputs)


def _rule(body: EachValueBody | SoManyBody, name: str) -> EachValue | SoMany:
    if isinstance(body, EachValueBody):
        return EachValue(read_integer(body.keep, name), read_integer(body.rise, name))
    return SoMany(body.size, None if body.own is None else read_integer(body.own, name))


def _kernel(body: ListedBody, name: str) -> Kernel:
    denominator = read_integer(body.denominator, name)
    if denominator < 1:
        raise InvalidInput(f"{name!r} is not a valid mechanism: its denominator is {denominator}.")
    if isinstance(body, CommonLawBody):
        if not body.common:
            raise InvalidInput(f"{name!r} is not a valid mechanism: its common law is empty.")
        common = np.array([read_integer(weight, name) for weight in body.common], dtype=np.object_)
        return CommonLawKernel(common, denominator)
    if isinstance(body, CodeBody):
        places = Places(body.symbols, body.digits, body.raised)
        low = [[read_integer(weight, name) for weight in row] for row in body.low]
        step = [read_integer(weight, name) for weight in body.step]
        if len({len(row) for row in low}) != 1:
            raise InvalidInput(f"{name!r} is not a valid mechanism: its rows are not of one length.")
        words = np.array(body.words, dtype=np.object_)
        weights = np.array(low, dtype=np.object_), np.array(step, dtype=np.object_)
        return CodeKernel(places, words, *weights, denominator)
    rows = [[read_integer(weight, name) for weight in row] for row in body.weights]
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise InvalidInput(f"{name!r} is not a valid mechanism: its rows are not of one length.")
    for place, row in enumerate(rows):
        if sum(row) != denominator:
            raise InvalidInput(f"{name!r} is not a valid mechanism: row {place} does not sum to its denominator.")
    return DenseKernel(np.array(rows, dtype=np.object_), denominator)


def save_mechanism(mechanism: Mechanism, path: str | os.PathLike[str], *, outcomes_digest: str | None = None) -> None:
    """Write a mechanism file, with the digest of the outcomes of the table that it belongs to, if there is one."""
    if isinstance(mechanism, SetMechanism):
        return write_document(path, FORMAT, VERSION, sets_to_body(mechanism))
    body = mechanism_to_body(mechanism)
    body.outcomes_digest = outcomes_digest
    binned = body.input_edges is not None or body.output_edges is not None
    version = 3 if outcomes_digest is not None else 2 if binned else 1
    version = CODES if isinstance(mechanism.kernel, CodeKernel) else version
    version = newest(version, EDGES, mechanism.input_alphabet, mechanism.output_alphabet)
    write_document(path, FORMAT, version, body)


def load_mechanism(path: str | os.PathLike[str]) -> Mechanism:
    """Read a mechanism file."""
    body = read_document(path, FORMAT, VERSION, MechanismBody)
    refuse_interrupted(path, body.outcomes_digest)
    mechanism = mechanism_from_body(body, str(path))
    object.__setattr__(mechanism, "outcomes_digest", body.outcomes_digest)
    return mechanism


def refuse_interrupted(path: str | os.PathLike[str], outcomes_digest: str | None) -> None:
    """Refuse a mechanism file of which it cannot be told whether it belongs to its table."""
    coming = f"{os.fspath(path)}{NEXT}"
    if outcomes_digest is None and os.path.exists(coming):
        raise InvalidInput(
            f"A release that was to replace {str(path)!r} by {coming!r} was interrupted, and it cannot be told which "
            "of them belongs to the table. If the table is older than the second, delete that; otherwise move it over "
            "the first."
        )
