"""The release of a table by strata: every row is drawn for by the mechanism of its stratum."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from leakwise.errors import CertaintyWarning, InvalidInput, LeakwiseWarning, some_of
from leakwise.mechanism import StratifiedMechanism
from leakwise.tables.formats.carried_mechanism import carried_secrets, metadata_of
from leakwise.tables.kinds import frames
from leakwise.tables.kinds.joint_columns import decode_parts
from leakwise.tables.release.draw import draw_codes
from leakwise.tables.release.row_order import OrderVerdict, RowOrder, warn_of_verdict
from leakwise.tables.strata.rows import StratifiedRows, rows_by_stratum
from leakwise.types import Codes

if TYPE_CHECKING:
    from leakwise.sampling import SecureStream

__all__ = ["release_by_stratum"]

# The order of rows is tested within the largest strata; the p-value pays for their number.
_TESTED = 64


def release_by_stratum(
    data: Any,
    mechanism: StratifiedMechanism,
    column: Hashable,
    *,
    order: str | None,
    stream: SecureStream | None,
    stacklevel: int,
) -> Any:
    """Return the table with its secret released by strata; given columns that are binned go out as bins.

    What the mechanism was certified for sees the bins: the numbers themselves would tell more.
    """
    found = rows_by_stratum(data, column, mechanism, mechanism.input_alphabet, "inputs")
    told = carried_secrets(metadata_of(found.held), "the table")
    if again := [name for one in told for name in one.names if name in found.names]:
        raise InvalidInput(
            f"{some_of(again)} was released before. Release from the original table: what a second release of outcomes "
            "by strata tells cannot be estimated."
        )
    _refuse_impossible(found, mechanism)
    _warn_of_others(found, mechanism, stacklevel + 1)
    _warn_of_certainty(found, mechanism, stacklevel + 1)
    if order != "shuffle":
        frames.check_row_labels(found.held, found.names, found.codes, mechanism.input_alphabet)
    if order is None and (verdict := _order_within_strata(found, mechanism)) is not None:
        warn_of_verdict(verdict, " and ".join(map(repr, found.names)), stacklevel + 1)
    drawn = _drawn(found, mechanism, stream)
    table = frames.with_columns(found.held, _columns(found, mechanism, drawn))
    if order == "shuffle":
        from leakwise.sampling import random_order  # the cipher is loaded when someone draws

        table = frames.take(table, random_order(found.rows, stream))
    return frames.give_back(table, data)


def _drawn(found: StratifiedRows, mechanism: StratifiedMechanism, stream: SecureStream | None) -> Codes:
    """An outcome for every row, as a place among the outcomes of all strata."""
    index = mechanism.output_alphabet.index
    numbers = {id(one): place for place, one in enumerate(mechanism.mechanisms)}
    which = np.array([numbers[id(mechanism[key])] for key in found.strata])[found.places]
    drawn = np.empty(found.rows, dtype=np.int64)
    for place, one in enumerate(mechanism.mechanisms):
        rows = np.flatnonzero(which == place)
        if rows.size:
            table = np.array([index[label] for label in one.outputs])
            drawn[rows] = table[draw_codes(found.codes[rows], one.sampler, stream)]
    return drawn


def _columns(found: StratifiedRows, mechanism: StratifiedMechanism, drawn: Codes) -> dict[Hashable, Any]:
    """What stands in the place of the secret, and of given columns that are binned."""
    held, names, outcomes = found.held, found.names, mechanism.output_alphabet
    new: dict[Hashable, Any] = {}
    if len(names) == 1:
        new[names[0]] = frames.decode(drawn, outcomes.labels, frames.column_of(held, names[0]))
    else:
        for name, (labels, codes) in zip(names, decode_parts(drawn, outcomes, names), strict=True):
            new[name] = frames.decode(codes, labels, frames.column_of(held, name))
    given = mechanism.given_columns
    for name in given.coarse():
        at = given.names.index(name)
        domain = given.domains[at]
        bins = np.array([domain.index[given.parts(key)[at]] for key in found.strata])
        new[name] = frames.decode(bins[found.places], domain.labels, frames.column_of(held, name))
    return new


def _refuse_impossible(found: StratifiedRows, mechanism: StratifiedMechanism) -> None:
    """Refuse rows with values that were declared impossible in their stratum: the certificate leaves them out."""
    counts = found.counts(len(mechanism.inputs))
    for key, row in zip(found.strata, counts, strict=True):
        wrong = np.flatnonzero((row > 0) & ~mechanism.support(key))
        if wrong.size:
            raise InvalidInput(
                f"{int(row[wrong].sum()):,} rows where {mechanism.given_columns.described(key)} have values that "
                f"cannot occur there by the prior: {some_of(mechanism.inputs[place] for place in wrong)}. No guarantee "
                "covers them. Design from a prior that gives them a probability, or from a set (cp.confidence)."
            )


def _warn_of_others(found: StratifiedRows, mechanism: StratifiedMechanism, stacklevel: int) -> None:
    """Warn of columns that are neither given nor the secret: the promise does not speak of someone who sees them."""
    given = mechanism.given_columns
    if others := [name for name in frames.column_names(found.held) if name not in (*found.names, *given.names)]:
        warnings.warn(
            f"The promise speaks of someone who sees {given.quoted} beside the outcome; {some_of(others)} "
            f"{'goes' if len(others) == 1 else 'go'} out as well and may tell more. Give them to the design "
            "(given=...), or drop them first.",
            LeakwiseWarning,
            stacklevel=stacklevel + 1,
        )


def _warn_of_certainty(found: StratifiedRows, mechanism: StratifiedMechanism, stacklevel: int) -> None:
    """Warn of outcomes that one value alone can cause in its stratum."""
    readable = []
    for key in found.strata:
        possible = mechanism.support(key)
        if possible.sum() > 1:
            causes = (mechanism[key].matrix[possible] > 0).sum(axis=0)
            readable += [(key, mechanism[key].outputs[place]) for place in np.flatnonzero(causes == 1)]
    if readable:
        key, outcome = readable[0]
        strata = len({one for one, _ in readable})
        warnings.warn(
            f"Rows of {' and '.join(map(repr, found.names))} can be read in {strata:,} of {len(found.strata):,} "
            f"strata: where {mechanism.given_columns.described(key)}, the outcome {outcome!r} makes a value certain. A "
            "limit for anyone (anyone=20) rules that out.",
            CertaintyWarning,
            stacklevel=stacklevel + 1,
        )


def _order_within_strata(found: StratifiedRows, mechanism: StratifiedMechanism) -> OrderVerdict | None:
    """The verdict on the order of rows within strata: that it depends on the given columns tells nothing new."""
    sizes = found.sizes()
    largest = set(np.argsort(-sizes, kind="stable")[:_TESTED].tolist())
    worst: OrderVerdict | None = None
    tested = 0
    for place, (_, rows) in enumerate(found.each()):
        if place not in largest:
            continue
        watched = RowOrder(mechanism.inputs)
        watched.add(found.codes[rows])
        verdict = watched.verdict()
        tested += 1
        if worst is None or verdict.p_value < worst.p_value:
            worst = verdict
    if worst is None:
        return None
    shared = OrderVerdict(min(1.0, worst.p_value * tested), f"within a stratum {worst.evidence}", worst.rows)
    return shared if shared.dependent else None
