"""What is refused and warned of before a table is released by strata."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from leakwise.alphabet import Label
from leakwise.errors import CertaintyWarning, InvalidInput, LeakwiseWarning, some_of
from leakwise.leakage.measures.certainty import has_cover
from leakwise.mechanism import StratifiedMechanism
from leakwise.tables.strata.mechanisms import RowMechanisms

__all__ = ["refuse_strata", "warn_of_others", "warn_of_readable_strata", "warn_of_strange"]


def refuse_strata(strata: Mapping[Label, Sequence[int]], mechanism: StratifiedMechanism) -> None:
    """Refuse rows in strata that have no mechanism, and rows with values that cannot occur in their stratum.

    A certificate leaves out values that cannot occur, so that a mechanism may release them in clear.

    Parameters
    ----------
    strata
        How often each value occurs in each stratum that occurs.
    mechanism
        What the rows would be drawn from.
    """
    given, rows = mechanism.given_columns, sum(map(sum, strata.values()))
    unknown = [key for key in strata if mechanism.otherwise is None and key not in mechanism]
    if unknown:
        raise InvalidInput(
            f"{sum(sum(strata[key]) for key in unknown):,} of {rows:,} rows are in {len(unknown):,} strata that were "
            f"not declared when the mechanism was made: {some_of(map(given.described, unknown), 3)}. Design with every "
            "combination that can occur declared (given={'sex': ['f', 'm'], …}), or leave these rows out."
        )
    for key, never in mechanism.zeros.items():
        if key not in strata:
            continue
        wrong = {value: strata[key][mechanism.input_alphabet.index[value]] for value in never}
        if any(wrong.values()):
            raise InvalidInput(
                f"{sum(wrong.values()):,} rows where {given.described(key)} have values that cannot occur there by the "
                f"prior: {some_of(value for value, count in wrong.items() if count)}. No guarantee covers them. Design "
                "from a prior that gives them a probability, or from a set (cp.confidence)."
            )


def warn_of_others(
    known: Sequence[Hashable], names: Sequence[Hashable], mechanism: StratifiedMechanism, stacklevel: int
) -> None:
    """Warn of columns that are neither given nor the secret: the guarantee does not speak of someone who sees them."""
    given = mechanism.given_columns
    if others := [name for name in known if name not in (*names, *given.names)]:
        warnings.warn(
            f"The guarantee speaks of someone who sees {given.quoted} beside the outcome; {some_of(others)} "
            f"{'goes' if len(others) == 1 else 'go'} out as well and may tell more. Give them to the design "
            "(given=...), or drop them first.",
            LeakwiseWarning,
            stacklevel=stacklevel + 1,
        )


def warn_of_strange(columns: Sequence[Hashable], mechanism: StratifiedMechanism, stacklevel: int = 5) -> None:
    """Warn of given columns of which no value is known: numbers where the mechanism has texts, or the other way."""
    given = dict(zip(mechanism.given_columns.names, mechanism.given_columns.domains, strict=True))
    known = "; ".join(f"{name!r}: {some_of(given[name].labels, 3)}" for name in columns)
    warnings.warn(
        f"No row has a value of {some_of(columns)} that the mechanism knows ({known}), so that all go through the one "
        "for strata that are not listed. Were numbers read as texts, or texts as numbers?",
        LeakwiseWarning,
        stacklevel=stacklevel,
    )


def warn_of_readable_strata(names: Sequence[Hashable], mechanism: StratifiedMechanism, stacklevel: int) -> None:
    """Warn of outcomes that one value alone can cause in its stratum."""
    rows = RowMechanisms(mechanism)
    readable = [
        (strata, cell, cell.mechanism.outputs[int(np.flatnonzero(causes == 1)[0])])
        for strata, cell in zip(rows.strata, rows.cells, strict=True)
        if cell.support.sum() > 1
        and not has_cover(cell.mechanism)
        and ((causes := (cell.mechanism.matrix[cell.support] > 0).sum(axis=0)) == 1).any()
    ]
    if readable:
        _, cell, outcome = readable[0]
        where = f"where {mechanism.given_columns.described(cell.stratum)}" if cell.listed else "in those not listed"
        many = sum(strata for strata, _, _ in readable)
        warnings.warn(
            f"Rows of {' and '.join(map(repr, names))} can be read in {many:,} of {len(mechanism):,} strata: {where}, "
            f"the outcome {outcome!r} makes a value certain. A limit for anyone (anyone=20) rules that out.",
            CertaintyWarning,
            stacklevel=stacklevel + 1,
        )
