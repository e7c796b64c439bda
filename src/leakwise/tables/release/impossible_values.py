"""Values that occur although the prior calls them impossible: no guarantee covers them, so they stop a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from leakwise.alphabet import Label
from leakwise.errors import InvalidInput, some_of
from leakwise.priors import PriorByStratum, PriorSet
from leakwise.types import Counts

__all__ = ["refuse_impossible", "refuse_impossible_by_stratum"]


def refuse_impossible_by_stratum(
    counts: Mapping[Label, Sequence[int]], priors: PriorByStratum, names: Sequence[Any]
) -> None:
    """Refuse a table with values that the prior of their stratum calls impossible.

    Parameters
    ----------
    counts
        How often each value of the priors' alphabet occurs in each stratum.
    priors
        The priors that the guarantee is about.
    names
        The columns of the secret, for the message.
    """
    for key, row in counts.items():
        if key in priors:
            where = f" where {priors.given_columns.described(key)}"
            refuse_impossible(np.array(row, dtype=np.int64), priors[key], names, where)


def refuse_impossible(counts: Counts, prior: PriorSet, names: Sequence[Any], where: str = "") -> None:
    """Refuse a column with values to which the prior (every prior of a set) gives no probability.

    Leakage is taken over the values that can occur, so that a mechanism may release any other in clear.

    Parameters
    ----------
    counts
        How often each value of the prior's alphabet occurs.
    prior
        The prior, or the set of priors, that the guarantee is about.
    names
        The columns of the secret, for the message.
    where
        Which rows these are, for the message.

    Examples
    --------
    >>> from leakwise import Prior
    >>> refuse_impossible(np.array([5, 1]), Prior({"no": 1, "yes": 0}), ["smokes"])
    Traceback (most recent call last):
    leakwise.errors.InvalidInput: column 'smokes' has 1 of 6 rows with values to which the prior gives no probability...
    """
    found = np.flatnonzero((counts > 0) & ~prior.support)
    if not found.size:
        return
    title = " and ".join(repr(str(name)) for name in names)
    raise InvalidInput(
        f"column {title} has {int(counts[found].sum())} of {int(counts.sum())} rows{where} with values to which the "
        f"prior gives no probability: {some_of(prior.labels[int(place)] for place in found)}. No guarantee covers "
        "them. Give them a probability in the prior (or a set of priors that does), or clean the column."
    )
