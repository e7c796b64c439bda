"""What every report says of a release, whether one mechanism served all rows or each stratum had its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from leakwise.alphabet import joined
from leakwise.exact import Level
from leakwise.guarantee import at_most, paid_for, treated_as_public
from leakwise.tables.row_columns import RowColumns

__all__ = ["PUBLISHED", "SEEDED", "ReleaseFacts", "for_every_prior", "promised_lift", "repeats"]

PUBLISHED = (
    "The frequencies were counted with noise. Everything in this report, the mechanism and the certificate follows "
    "from those counts: all of it can be published."
)
SEEDED = (
    "FOR TESTS ONLY: the outcomes were drawn from a seed (unsafe_seed). Anyone who knows or guesses it can undo the "
    "release, so nothing is guaranteed."
)


@dataclass(frozen=True, kw_only=True)
class ReleaseFacts(ABC):
    """A release as its report shows it.

    Attributes
    ----------
    dataset
        What the data is called.
    columns
        The released column, or those released together.
    rows
        How many rows the released table has, which anyone who receives it can count.
    use
        ``"statistics"`` or ``"reading"``, or ``"given"`` for a mechanism that the user brought.
    origin
        ``"given"`` (public knowledge) or ``"table"`` (estimated from the table: rounded, or counted with noise).
    failure
        The failure probability that the user gave, if any.
    how
        How the mechanism was found, with its value, upper bound and gap where it was designed.
    ledger
        The entry, where the release was entered in a ledger. (Its totals rest on exact counts, and stay there.)
    mechanism_file, certificate_file, settings_file
        The names of the files that were saved with the release; None where none was, and none is named.
    unsafe_seed
        Whether the outcomes were drawn from a seed, for tests. The seed itself is not kept.
    order
        ``"keep"`` or ``"shuffle"`` as the user chose; None where the order of the rows was tested and kept.
    row
        What goes out beside the secret, and as what; None where nothing was said of other columns.
    memo
        Where draws repeat: the ``person`` column, and the fingerprint of the ``key``.
    """

    dataset: str
    columns: tuple[str, ...]
    rows: int
    use: str
    origin: str
    failure: float | None
    how: dict[str, Any]
    ledger: dict[str, Any] | None
    time: datetime
    released: str | None = None
    unsafe_seed: bool = False
    order: str | None = None
    mechanism_file: str | None = None
    certificate_file: str | None = None
    settings_file: str | None = None
    row: RowColumns | None = None
    memo: dict[str, str] | None = None

    @classmethod
    def now(cls) -> datetime:
        """Return the time of a release."""
        return datetime.now(UTC)

    @property
    def guarantee(self) -> str:
        """The guarantee in words."""
        return " ".join([self.of_one_release, *([] if self.memo is None else [self.repeated])])

    @property
    @abstractmethod
    def of_one_release(self) -> str:
        """What holds for this release alone, in words."""

    @property
    @abstractmethod
    def every_prior(self) -> Fraction | None:
        """The largest lift of the mechanism for any prior whatever, asked for or not; None where it has no bound."""

    @property
    def repeated(self) -> str:
        """What holds for all releases by one key together, in words."""
        return repeats(self.every_prior)

    @property
    @abstractmethod
    def promised(self) -> Fraction:
        """The lift that the report guarantees, never below what is proven."""

    @abstractmethod
    def limits(self) -> list[str]:
        """Return what is not guaranteed."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""

    @property
    @abstractmethod
    def prior_cost(self) -> Fraction:
        """What a prior counted with noise costs, in nats; 0 where counts were rounded or the prior is public."""

    @property
    def _on_the_frequencies(self) -> str:
        """What it means that frequencies of the table decided the mechanism."""
        by_stratum = bool(self.given)
        if self.prior_cost:
            return paid_for(self.prior_cost, by_stratum=by_stratum)
        return treated_as_public(self.promised, self.anyone, by_stratum=by_stratum)

    @property
    @abstractmethod
    def anyone(self) -> Fraction | None:
        """The lift that is guaranteed for any prior whatever; None where it was not asked for."""

    @property
    def secret(self) -> str:
        """The columns in words."""
        return " and ".join(self.columns)

    @property
    def spoken(self) -> bool:
        """Whether something was said of every other column, so that the guarantee is to whoever sees the row."""
        return self.row is not None and not self.row.unspoken

    @property
    def given(self) -> tuple[Hashable, ...]:
        """The columns that the guarantee is relative to."""
        return () if self.row is None else self.row.given

    @property
    def unrelated(self) -> tuple[Hashable, ...]:
        """The columns that go out and are assumed to tell nothing about the secret."""
        return () if self.row is None else self.row.unrelated

    @property
    def row_order(self) -> str:
        """What was done about the order of the rows, in words."""
        return {
            None: "kept; no sign of the secret found",
            "keep": "kept on request, without a test",
            "shuffle": "random",
        }[self.order]

    @property
    def roles(self) -> list[tuple[str, str, str]]:
        """Each column of the row: its name, what it is, and how it goes out."""
        if self.row is None:
            return []
        bins = self.row.coarsened
        told = [(name, "secret", "an outcome is drawn for it") for name in self.columns]
        for kind, names in (("given", self.row.given), ("unrelated", self.row.unrelated)):
            told += [(str(name), kind, "in bins" if name in bins else "as it is") for name in names]
        told += [(str(name), "nothing was said of it", "as it is") for name in self.row.unspoken]
        return told + [(str(name), "dropped", "it does not go out") for name in self.row.dropped]

    def _of_other_columns(self) -> list[str]:
        """What the columns beside the secret reveal, and what is assumed of them."""
        if self.row is None or self.row.unspoken:
            others = "All other columns" if self.row is None else joined(self.row.unspoken)
            return [
                f"{others} and the number of rows are released unchanged. What they reveal about {self.secret} is not "
                f"counted here: a column that is closely related to it reveals it, whatever is done to {self.secret} "
                "itself."
            ]
        if not self.row.unrelated:
            return []
        names = joined(self.row.unrelated)
        shows = "shows" if len(self.row.given) == 1 else "show"
        beyond = f", beyond what {joined(self.row.given)} {shows}" if self.row.given else ""
        return [
            f"{names} went out, and it was assumed that nothing about {self.secret} can be told from that{beyond}. The "
            f"table was tested for it, which does not prove it. If it is wrong, what can be told from {names} is not "
            "counted here."
        ]

    def _of_order(self) -> list[str]:
        if self.order == "shuffle":
            return []
        tested = (
            "No test was made of it, because its owner chose to keep it."
            if self.order == "keep"
            else "A test of it found nothing, which does not prove that there is nothing."
        )
        return [
            f"The rows keep the order of the source. {tested} If the source was sorted or split by {self.secret}, or "
            f"by something related to it, the position of a row reveals its value, whatever is done to "
            f"{self.secret} itself."
        ]

    def _of_every_release(self) -> list[str]:
        others = (
            "The guarantee covers one release. Another release of the same column, even by the same mechanism, adds to "
            "what is known, by more than the sum of the two ε in the worst case. The ledger keeps the true total."
        )
        if self.memo is not None:
            others = (
                f"The guarantee covers all releases by the key {self.memo['key']}, this mechanism and this column. One "
                "by another key or another mechanism is another draw, and adds to what is known. Anyone who gets the "
                "key can undo all of them; if it is lost, no draw can be repeated. Anyone who could enter rows under "
                "the id of another person, and see what is released for them, could undo that person's."
            )
        return [
            "Statistics are meant to be learned. That people like this one often have a certain value can be read "
            "from the released table, whether this person is in it or not.",
            others,
            "Anyone who has the original table knows everything. It must be kept, or destroyed, as its own rules "
            "require.",
        ]

    def _head(self, version: int) -> dict[str, Any]:
        """What every report as plain data begins with."""
        told: dict[str, Any] = {
            "format": "leakwise.report",
            "version": version,
            "dataset": self.dataset,
            "columns": list(self.columns),
            "rows": self.rows,
            "released": self.released,
            "row_order": self.row_order,
            "time": self.time.isoformat(timespec="seconds"),
            "use": self.use,
            "unsafe_seed": self.unsafe_seed,
        }
        if self.memo is not None:
            told["memo"] = {**self.memo, "sentence": self.repeated}
        if self.row is not None:
            told["row"] = [{"column": name, "is": kind, "goes_out": how} for name, kind, how in self.roles]
        return told


def repeats(anyone: Fraction | None) -> str:
    """Return what all releases of a person's values by one key tell together; ``anyone`` is the lift for every prior.

    >>> print(repeats(Fraction(20)))
    Draws repeat: all releases by the same key, mechanism and column together tell about a value that does not change \
what one of them does, for ever. Each further value that a person comes to have multiplies these limits by at most 20, \
for anyone who knows when it changed; that it changed is not hidden.
    """
    together = (
        "Draws repeat: all releases by the same key, mechanism and column together tell about a value that does not "
        "change what one of them does, for ever."
    )
    if anyone is None:
        return f"{together} For values that change there is no limit, and that they change is not hidden."
    return (
        f"{together} Each further value that a person comes to have multiplies these limits by at most "
        f"{at_most(anyone)}, for anyone who knows when it changed; that it changed is not hidden."
    )


def promised_lift(proven: Fraction, asked: Level | None, origin: str) -> Fraction:
    """Return the lift that a report guarantees, never below the proven one.

    For a prior from the table it is the one asked for: what is proven to its last digit may reveal counts.
    """
    if origin != "table" or proven == 1:
        return proven
    if asked is None:
        return Fraction(-(-100 * proven.numerator // proven.denominator), 100)
    if not asked.allows(proven):
        return proven
    return asked.below if asked.exponent is None and proven <= asked.below else asked.above


def for_every_prior(local: Fraction | None, limited: bool) -> str:
    """Return what holds for any prior whatsoever, in the middle of a sentence."""
    words = "there is no limit" if local is None else f"the lift is at most {at_most(local)}"
    if limited:
        return words
    return f"{words} (no limit for anyone was asked for: it was switched off, or no lift was given)"
