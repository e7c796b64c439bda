"""The given columns of a batch as codes, and columns that go out in bins."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, Bins, GivenColumns, edges_of
from leakwise.errors import InvalidInput, LeakwiseWarning, some_of
from leakwise.types import Array

__all__ = ["GivenCodes", "bins_of", "coarse_codes"]

Encode = Callable[..., Any]

# Texts that pandas.read_csv and other readers make missing values of.
_TAKEN_FOR_MISSING = {"None", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", ""}


def bins_of(given: Iterable[GivenColumns], coarsen: Mapping[Any, Bins]) -> dict[Any, Bins]:
    """Return the bins in which columns go out: those that were asked for, and those of given columns.

    Missing values stay missing. A column that a mechanism knows by its bins must not go out finer.
    """
    found = {name: bins.with_missing() for name, bins in coarsen.items()}
    for columns in given:
        for name, domain in zip(columns.names, columns.domains, strict=True):
            if not isinstance(domain, Bins):
                continue
            if edges_of(found.setdefault(name, domain.with_missing())) != edges_of(domain):
                raise InvalidInput(
                    f"The given column {name!r} goes out in other bins than the mechanism was made for: "
                    f"{found[name].typed} and {domain.typed}. Use the same bins."
                )
    return found


def coarse_codes(batch: Mapping[Any, Any], bins: Mapping[Any, Bins], encode: Encode) -> dict[Any, Array]:
    """Return the codes of the bins of the columns that go out in them; a number outside of its bins is an error."""
    return {name: encode(batch[name], domain, name=f"column {name!r}") for name, domain in bins.items()}


class GivenCodes:
    """From the columns of a batch to the codes of the given ones, -1 for a value that is not declared.

    Parameters
    ----------
    given
        The given columns.
    bins
        Those in which columns go out. A given one is known by the names of its bins.
    strict
        Whether a value that is not declared is an error.
    released
        Whether the table went out already. Whoever reads its CSV file elsewhere may have made numbers of texts.
    """

    def __init__(self, given: GivenColumns, bins: Mapping[Any, Bins], *, strict: bool, released: bool = False) -> None:
        self._given, self._strict, self._released = given, strict, released
        self._moved: dict[Hashable, Array] = {}
        for name, domain in zip(given.names, given.domains, strict=True):
            if name in bins:
                codes = [domain.index.get(label, -1) for label in bins[name].labels]
                self._moved[name] = np.array(codes, dtype=np.min_scalar_type(-len(domain)))

    def read(self, batch: Mapping[Any, Any], coarse: Mapping[Any, Array], encode: Encode) -> list[Array]:
        """Return the codes of each given column; ``coarse`` are those of the bins of its columns."""
        return [
            self._moved[name][coarse[name]]
            if name in self._moved
            else self._codes(batch[name], domain, f"the given column {name!r}", encode)
            for name, domain in zip(self._given.names, self._given.domains, strict=True)
        ]

    def _codes(self, column: Any, domain: Alphabet, name: str, encode: Encode) -> Array:
        if self._released and (numbers := _as_numbers(domain)) is not None:
            codes: Array = encode(column, domain, name=name, outside=True)
            if not any(domain.labels[code] is not None for code in np.unique(codes) if code >= 0):
                domain = numbers
        if self._released and (lost := [label for label in domain.labels if label in _TAKEN_FOR_MISSING]):
            _warn_of_lost(column, domain, name, encode, lost)
        found: Array = encode(column, domain, name=name, outside=not self._strict)
        return found


def _warn_of_lost(column: Any, domain: Alphabet, name: str, encode: Encode, lost: list[Any]) -> None:
    """Warn of missing values where the table that went out has texts that whoever read it took for missing."""
    if None in domain.index:
        return
    codes = encode(column, Alphabet([*domain.labels, None]), name=name, outside=True)
    if missing := int(np.count_nonzero(codes == len(domain))):
        warnings.warn(
            f"{missing:,} values of {name} are missing. The released table has {some_of(lost)} there, which readers of "
            "CSV files take for missing: those rows count with the wrong mechanism. Read it with "
            "keep_default_na=False (pandas), or give the path of the file.",
            LeakwiseWarning,
            stacklevel=6,
        )


def _as_numbers(domain: Alphabet) -> Alphabet | None:
    """Return numbers for the texts of a domain, as ``pandas.read_csv`` reads them; None where one is not a number."""
    truth = {"True": True, "False": False, "true": True, "false": False}
    labels: list[Any] = []
    for label in domain.labels:
        if not isinstance(label, str | None):
            return None
        try:
            labels.append(truth[label] if label in truth else label and float(label))
        except ValueError:
            return None
    # Beyond that, numbers of a table need not be floats.
    if any(isinstance(label, str) or not abs(label or 0) < 2**53 for label in labels):
        return None
    return Alphabet(labels) if len(set(labels)) == len(labels) else None
