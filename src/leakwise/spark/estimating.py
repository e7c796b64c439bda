"""Estimates from Spark DataFrames: Spark counts the cells, and the counts are estimated from on the driver."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from leakwise.errors import InvalidInput, some_of
from leakwise.mechanism import StratifiedMechanism
from leakwise.spark.counting import counts
from leakwise.spark.driver import carried_by
from leakwise.spark.driver import mechanism as carried_mechanism
from leakwise.tables.kinds.plain import in_order
from leakwise.tables.strata.rows import CountedRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["estimate"]


def estimate(
    df: DataFrame,
    mechanism: Any = None,
    column: Hashable = None,
    *,
    by: Any = None,
    confidence: float = 0.95,
    simultaneous: bool = False,
) -> Any:
    """Estimate from a released DataFrame, as :func:`leakwise.estimate` does from a table in memory.

    Spark counts how many rows have each combination of outcomes, of the columns to group by and of those that say which
    mechanism a row went through; only these counts come to the driver.

    Parameters
    ----------
    df
        A released DataFrame, of Spark or of Spark Connect.
    mechanism
        The mechanism of ``column``; or a mapping from released columns to theirs, for the joint table. A mechanism that
        is None is the one that the DataFrame carries, and a list of columns does where it carries all of them.
    column
        The released column; may be left out where the DataFrame carries one.
    by
        A column that was not randomized, or a list of them: one estimate for each group.
    confidence, simultaneous
        Of each interval, or of all intervals together.
    """
    from leakwise.tables.estimate.estimate import estimate as recover
    from leakwise.tables.estimate.joint.grouped import GroupedJointEstimate
    from leakwise.tables.estimate.result import GroupedEstimate

    told = carried_by(df)
    if isinstance(mechanism, (list, tuple)):
        mechanism = dict.fromkeys(mechanism)
    if mechanism is None and column is None and len(told) == 1:
        column = told[0].names if len(told[0].names) > 1 else told[0].names[0]
    if isinstance(mechanism, Mapping) and (column is not None or (len(mechanism) == 1 and not isinstance(by, list))):
        column = next(iter(mechanism)) if column is None else column
        mechanism = mechanism.get(column)
    several = isinstance(mechanism, Mapping)
    if not several and column is None:
        raise InvalidInput("column must say which column of the DataFrame was released.")
    given = dict(mechanism) if isinstance(mechanism, Mapping) else {column: mechanism}
    known = {key: carried_mechanism(df, key) if one is None else one for key, one in given.items()}
    strata = [name for one in known.values() if isinstance(one, StratifiedMechanism) for name in one.given]
    names = [list(key) if isinstance(key, tuple) else [key] for key in known]
    groups = [] if by is None else list(by) if isinstance(by, (list, tuple)) else [by]
    released = [*(name for of in names for name in of), *(name for one in told for name in one.names)]
    if both := [name for name in groups if name in released]:
        raise InvalidInput(
            f"by={by!r} names released columns: {some_of(both)}. Their groups are those of outcomes, not of true "
            "values, and estimates within them would be biased. Group by columns that were not randomized."
        )
    columns = tuple(dict.fromkeys((*groups, *strata, *(name for of in names for name in of))))
    cells = counts(df, columns if len(columns) > 1 else columns[0])
    if not cells:
        raise InvalidInput("The DataFrame has no rows: there is nothing to estimate from.")
    if any(isinstance(one, StratifiedMechanism) for one in known.values()):
        keys = list(cells) if len(columns) > 1 else [(key,) for key in cells]
        held = dict(zip(columns, map(list, zip(*keys, strict=True)), strict=True))
        rows = CountedRows(held, np.array(list(cells.values()), dtype=np.int64))
        chosen, name = (known, None) if several else (known[column], column)
        return recover(rows, chosen, name, by=by, confidence=confidence, simultaneous=simultaneous)
    tables: dict[Any, dict[Any, int]] = {}
    for key, count in cells.items():
        parts = key if len(columns) > 1 else (key,)
        inside, rest = parts[: len(groups)], parts[len(groups) :]
        outcomes: list[Any] = []
        for of in names:
            outcomes.append(rest[0] if len(of) == 1 else tuple(rest[: len(of)]))
            rest = rest[len(of) :]
        group = inside[0] if len(inside) == 1 else inside
        tables.setdefault(group, {})[tuple(outcomes) if several else outcomes[0]] = count
    share = 1 - (1 - confidence) / len(tables) if simultaneous else confidence
    found: dict[Any, Any] = {
        group: recover(tables[group], known if several else known[column], confidence=share, simultaneous=simultaneous)
        for group in in_order(tables)
    }
    if not groups:
        return found[()]
    if several:
        return GroupedJointEstimate(tuple(groups), found)
    return GroupedEstimate(groups[0] if len(groups) == 1 else tuple(groups), found, confidence, simultaneous)
