"""Choices of columns beside the one that was made: what each costs in accuracy, and how it is typed."""

from __future__ import annotations

import shlex
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

from leakwise.alphabet import Bins
from leakwise.guarantee import percent

__all__ = ["Advice", "Option", "typed_list"]


@dataclass(frozen=True)
class Option:
    """Another choice of columns, and the largest standard error of a frequency that it would give, about."""

    given: tuple[Hashable, ...]
    unrelated: tuple[Hashable, ...]
    drop: tuple[Hashable, ...]
    coarsen: Mapping[Hashable, Bins]
    standard_error: float

    @property
    def words(self) -> str:
        """The choice as options of the command line."""
        return shlex.join(self.arguments)

    @property
    def arguments(self) -> list[str]:
        """The same, word by word."""
        parts = []
        for option, names in (("--given", self.given), ("--unrelated", self.unrelated), ("--drop", self.drop)):
            if names:
                parts += [option, typed_list(names)]
        for name, one in self.coarsen.items():
            parts += ["--coarsen", f"{name}={one.typed}"]
        return parts


@dataclass(frozen=True)
class Advice:
    """How many rows are too rare to learn from, the accuracy that leaves, and what would do better.

    Attributes
    ----------
    strata, rows
        Combinations of the given columns that have the mechanism for every prior, and their rows.
    all_rows
        The rows of the table.
    standard_error
        The largest of an estimated frequency; None where frequencies cannot be estimated.
    options
        Choices that would do better.
    """

    strata: int
    rows: int
    all_rows: int
    standard_error: float | None
    options: tuple[Option, ...]

    @property
    def words(self) -> str:
        """All of it in words."""
        start = (
            f"{self.rows:,} of {self.all_rows:,} rows ({percent(self.rows / self.all_rows)}) are in {self.strata:,} "
            f"combination{'s' * (self.strata != 1)} of the given columns too rare to learn from: their mechanism holds "
            "for every prior."
        )
        if self.standard_error is None:
            return start
        start += f" The standard error of an estimated frequency is up to {self.standard_error:.2g}."
        if not self.options:
            return start
        told = [
            f"{one.words}: standard error {one.standard_error:.2g} instead of {self.standard_error:.2g}"
            for one in self.options
        ]
        return f"{start} Choices that would do better (about): {'; '.join(told)}."


def typed_list(values: Iterable[object]) -> str:
    """Return values as an option of the command line takes them: a missing one is empty.

    >>> print(typed_list(["no", "yes, a little", None]))
    no,"yes, a little",
    """
    return ",".join("" if one is None else _typed(str(one)) for one in values)


def _typed(text: str) -> str:
    # Spaces at the ends are kept within quotes only, and an empty text in quotes is not a missing value. Bins are bins,
    # and what begins with @ is a file.
    plain = text and text == text.strip() and not set(text) & set(',"\r\n') and not text.startswith(("bins:", "@"))
    return text if plain else '"' + text.replace('"', '""') + '"'
