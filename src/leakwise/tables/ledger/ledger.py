"""The ledger: what was released of which secret, what all of it reveals together, and a budget that is kept."""

from __future__ import annotations

import csv
import hmac
import io
import json
import os
import sqlite3
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from leakwise.alphabet import joined
from leakwise.charts.shown import Parts, Shown
from leakwise.documents import write_atomically
from leakwise.errors import InvalidInput, LeakwiseWarning, some_of
from leakwise.exact import level
from leakwise.priors import Prior, PriorByStratum
from leakwise.proof import Certificate, StratifiedCertificate
from leakwise.tables.ledger.account import LedgerAccount
from leakwise.tables.ledger.budgets import ROW, store_budget
from leakwise.tables.ledger.column_digest import digest_of_secret
from leakwise.tables.ledger.contents import Contents
from leakwise.tables.ledger.entries import COLUMNS, LedgerEntry, row_of
from leakwise.tables.ledger.independence import shown_independent, store_independence
from leakwise.tables.ledger.ledger_file import ACCOUNTS, LedgerFile, insert, migrate
from leakwise.tables.ledger.people import People, Sketcher, known_as
from leakwise.tables.ledger.repeats import refuse_unsaid_changes
from leakwise.tables.ledger.reservation import Reservation, name_of_data, names_of, refuse_outcomes, reserved_entries
from leakwise.tables.ledger.totals import LedgerTotal
from leakwise.tables.release.paths import ledger_files, refuse_same_files
from leakwise.tables.row_columns import RowColumns

__all__ = ["Ledger"]


class Ledger(Shown):
    """A book of releases in one SQLite file, safe for several processes at once.

    A release is entered before it is made: within one transaction the total with it is computed and compared with the
    budget, so that two processes cannot both take the last of it. An entry that a killed process left behind counts as
    released until someone who knows better cancels it.

    Digests of columns are keyed by 32 random bytes that never leave the ledger: those of a column with few values
    could otherwise be guessed.

    Parameters
    ----------
    path
        The file; made if it does not exist, for its owner only.

    Examples
    --------
    >>> import tempfile, leakwise as lw
    >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
    >>> ledger.set_budget("survey", "smokes", lift=3)
    >>> m, prior = lw.randomized_response(["no", "yes"], lift=3), lw.Prior.uniform(["no", "yes"])
    >>> entry = ledger.reserve("survey", "smokes", lw.certify(m, prior))
    >>> ledger.confirm(entry)
    >>> total = ledger.total("survey", "smokes")
    >>> total.releases, f"{total.lift:.4f}"
    (1, '1.5000')
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = LedgerFile(path)

    @property
    def path(self) -> Path:
        """Where the ledger is."""
        return self._file.path

    # -- entering -----------------------------------------------------------------------------------------------

    def set_budget(
        self,
        dataset: str | None,
        secret: Any = None,
        epsilon: object = None,
        *,
        lift: object = None,
        each_column: bool = False,
    ) -> None:
        """Set the most that all releases together may reveal, from now on: ε in nats, or the factor e^ε.

        Every release of the data spends it, of whatever columns: they may be correlated.

        Parameters
        ----------
        dataset
            The name of the data. None for every dataset that has no budget of its own for the same columns.
        secret
            A column, or several as a tuple: no guess about them. None for the whole row: no guess about any function
            of it.
        epsilon, lift
            How much.
        each_column
            A budget for each column that is released, by itself.
        """
        asked = level(epsilon, lift)
        with self._file.writing() as db:
            store_budget(db, dataset, secret, each_column, asked)

    def show_independent(self, dataset: str, *groups: Any, prior: Prior | PriorByStratum) -> None:
        """Show that columns are independent, so that releases of the ones do not count for budgets of the others.

        Parameters
        ----------
        dataset
            The name of the data.
        groups
            Columns, or tuples of columns, that are independent of one another.
        prior
            Of all these columns together, by stratum where other columns go out as they are: it must be the product of
            its parts, exactly.
        """
        shown = shown_independent(groups, prior)
        with self._file.writing() as db:
            store_independence(db, name_of_data(dataset), shown)

    def reserve(
        self,
        dataset: str,
        secret: Any,
        certificate: Certificate | StratifiedCertificate,
        *,
        origin: str = "given",
        failure: float = 0.0,
        rows: int | None = None,
        source_digest: str | None = None,
        row: RowColumns | None = None,
        outcomes: Mapping[Any, int] | None = None,
    ) -> int:
        """Enter a release that is about to be made, and give back its number; refuse one that is beyond the budget.

        Parameters
        ----------
        dataset, secret
            Names: of the data, and of the column (or columns) whose values are the secret.
        certificate
            Of the mechanism, for the prior; or by strata.
        origin, failure
            Where the prior comes from, and with what probability it is wrong.
        rows
            The number of rows.
        source_digest
            Of the secret column (:meth:`digest`), by which a column is known again under another name, and values that
            changed are told. Left out, the name of the data says that they are those of every other release of it.
        row
            What goes out beside the secret. Left out, the given columns of a stratified mechanism, or nothing is known.
        outcomes
            The given columns that hold outcomes of earlier releases of the same rows, with the numbers of the entries.
            Beside all earlier outcomes, a release adds its own lift; otherwise it adds its limit for anyone.
        """
        one = Reservation(secret, certificate, origin, failure, rows, source_digest, row, outcomes or {})
        return self.reserve_all(dataset, [one])[0]

    def reserve_all(self, dataset: str, releases: Sequence[Reservation], people: People | None = None) -> list[int]:
        """Enter releases that are about to be made together, all or none, and give back their numbers.

        They are compared with the budgets as one. Later ones may be certified beside the outcomes of earlier ones.
        They are confirmed, cancelled and settled together.

        Parameters
        ----------
        dataset
            The name of the data.
        releases
            In the order in which they are drawn.
        people
            Whose data it is: people that are known under another name are refused until the user says whose they are.
        """
        with self._file.writing() as db:
            new = self._allowed(db, dataset, releases, people, keep=True)
            numbers: dict[int, int] = {}
            for one in new:
                after = tuple((name, numbers.get(number, number)) for name, number in one.outcomes)
                numbers[one.id] = insert(db, COLUMNS, row_of(replace(one, outcomes=after, together=None)))
            if len(new) > 1:
                migrate(db, ACCOUNTS)
                first = numbers[new[0].id]
                db.executemany("UPDATE releases SET together = ? WHERE id = ?", [(first, n) for n in numbers.values()])
            return list(numbers.values())

    def preview(self, dataset: str, releases: Sequence[Reservation], people: People | None = None) -> list[LedgerTotal]:
        """Return what the total of each secret would be with releases that are not entered; refuse what entering would.

        Parameters
        ----------
        dataset, releases, people
            As for :meth:`reserve_all`.
        """
        with self._file.reading() as db:
            new = self._allowed(db, dataset, releases, people, keep=False)
            found = Contents(db, str(self.path))
            return [found.total(one.dataset, one.secret, [*found.entries, *new]) for one in new]

    def confirm(self, entry: int | Sequence[int], *, released_digest: str | Sequence[str | None] | None = None) -> None:
        """The release of a reserved entry was made; those of entries that were made together are named together.

        One that someone cancelled meanwhile counts again, with a warning: it was released.
        """
        entries = [entry] if isinstance(entry, int) else list(entry)
        digests = [released_digest] if released_digest is None or isinstance(released_digest, str) else released_digest
        again = list[int]()
        with self._file.writing() as db:
            for one, digest in zip(entries, [*digests, *[None] * (len(entries) - len(digests))], strict=True):
                again += [one] if _state(db, one) == "cancelled" else []
                _change(db, one, "released", digest, ("reserved", "cancelled"))
        if again:
            warnings.warn(
                f"Entry {joined(again)} of the ledger was cancelled while its release was being made. It was released, "
                "and counts again.",
                LeakwiseWarning,
                stacklevel=2,
            )

    def cancel(self, entry: int | Sequence[int]) -> None:
        """The release of a reserved entry was not made, and nobody has seen any of it: it counts no more.

        Nor do those that were entered together with it. One beside whose outcome a later release was drawn cannot be
        cancelled: the later one tells of it.
        """
        with self._file.writing() as db:
            found = {one.id: one for one in Contents(db, str(self.path)).entries}
            wanted = {int(one) for one in ([entry] if isinstance(entry, int) else entry)}
            groups = {found[one].together for one in wanted if one in found} - {None}
            wanted |= {one.id for one in found.values() if one.together in groups}
            for one in found.values():
                if one.counts and one.id not in wanted and (cited := one.after & wanted):
                    raise InvalidInput(
                        f"Entry {min(cited)} of the ledger cannot be cancelled: entry {one.id} was drawn beside its "
                        "outcome, and tells of it."
                    )
            for number in sorted(wanted):
                _change(db, number, "cancelled", None, ("reserved",))

    def _allowed(
        self,
        db: sqlite3.Connection,
        dataset: str,
        releases: Sequence[Reservation],
        people: People | None,
        *,
        keep: bool,
    ) -> list[LedgerEntry]:
        """The entries of releases that are to be made together; refuse those that may not be, after those that were."""
        found = Contents(db, str(self.path))
        name = known_as(db, name_of_data(dataset), people, found.datasets, keep=keep)
        new = reserved_entries(name, releases, datetime.now(UTC).isoformat(timespec="seconds"))
        if keep and people is not None:  # what was said of its name counts from now on
            found = Contents(db, str(self.path))
        for one in new:
            self._refuse_other_name(one, [*found.entries, *(other for other in new if other.id < one.id)])
            refuse_outcomes(one, [*found.entries, *new])
            refuse_unsaid_changes(one, found.entries)
        found.refuse_beyond_budgets(new)
        return new

    def settle(self, entry: int, *, released: bool) -> None:
        """Say of a reserved entry that a stopped process left behind whether its release was made.

        Those that were entered together with it are settled with it.

        Parameters
        ----------
        entry
            Its number.
        released
            True where the table is somewhere, or someone may have seen any of it; False where nothing was written, or
            it was deleted before anyone saw any of it.
        """
        if not released:
            self.cancel(entry)
            return
        with self._file.writing() as db:
            found = {one.id: one for one in Contents(db, str(self.path)).entries}
            group = found[entry].together if entry in found else None
            others = [one for one in found.values() if group is not None and one.together == group and one.id != entry]
            for number in (entry, *(one.id for one in others if one.state == "reserved")):
                _change(db, number, "released", None, ("reserved",))

    def _refuse_other_name(self, entry: LedgerEntry, entries: Sequence[LedgerEntry]) -> None:
        for one in entries:
            same = one.source_digest is not None and (
                digest_of_secret(one.source_digest) == digest_of_secret(entry.source_digest)
            )
            if same and one.counts and (one.dataset, one.secret) != (entry.dataset, entry.secret):
                raise InvalidInput(
                    f"This very column was released before as {some_of(one.secret)} of {one.dataset!r} (entry "
                    f"{one.id}). Its releases add up only under one name: use dataset={one.dataset!r} (--dataset) "
                    "and the same columns."
                )

    def digest(self) -> hmac.HMAC:
        """Return a new keyed digest (HMAC-SHA-256) to put a column into."""
        return hmac.new(self._file.key, digestmod="sha256")

    def sketcher(self) -> Sketcher:
        """Return a new keyed sketch to put the keys of people into."""
        return Sketcher(self._file.key)

    # -- reading ------------------------------------------------------------------------------------------------

    def _read(self) -> Contents:
        with self._file.reading() as db:
            return Contents(db, str(self.path))

    def entries(self, dataset: str | None = None, secret: Any = None) -> list[LedgerEntry]:
        """Return the entries in the order they were made, of one dataset or secret if named."""
        contents = self._read()
        name = None if dataset is None else contents.name(dataset)
        wanted = None if secret is None else tuple(json.loads(names_of(secret)))
        return [one for one in contents.entries if name in (None, one.dataset) and wanted in (None, one.secret)]

    def total(self, dataset: str, secret: Any = None) -> LedgerTotal:
        """Return what all releases of the data reveal together about a secret, or the whole row, and its budget."""
        return self._read().total(dataset, ROW if secret is None else tuple(json.loads(names_of(secret))))

    def totals(self) -> list[LedgerTotal]:
        """Return the total of every secret that has an entry or a budget."""
        return self._read().totals()

    def account(self, dataset: str) -> LedgerAccount:
        """Return the account of a dataset: all its totals, what each release added, what is left.

        Examples
        --------
        >>> import tempfile, leakwise as lw
        >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
        >>> ledger.set_budget(None, lift=4)  # the whole row, of every dataset
        >>> response, prior = lw.randomized_response(["no", "yes"], lift=3), lw.Prior.uniform(["no", "yes"])
        >>> ledger.confirm(ledger.reserve("survey", "smokes", lw.certify(response, prior)))
        >>> print(ledger.account("survey").row.remaining)
        Of the budget, lift = 4, a lift of 2.6666 is left for further releases.
        """
        return self._read().account(dataset)

    def accounts(self) -> list[LedgerAccount]:
        """Return the accounts of all datasets."""
        contents = self._read()
        return [contents.account(name) for name in contents.datasets]

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write the ledger as ``.json`` (entries with their mechanisms, totals) or ``.csv`` (one line per entry).

        The key of the digests stays in the ledger.
        """
        refuse_same_files(ledger_files(self.path, "The ledger"), {"path": Path(path)})
        suffix = Path(path).suffix.lower()
        if suffix == ".json":
            text = json.dumps(self.to_dict(), ensure_ascii=False, indent=1)
        elif suffix == ".csv":
            stream = io.StringIO()
            rows = [one.summary() for one in self.entries()]
            writer = csv.DictWriter(stream, list(rows[0]) if rows else ["id"], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
            text = stream.getvalue()
        else:
            raise InvalidInput(f"path must end in .json or .csv. Got {str(path)!r} instead.")
        write_atomically(path, text.encode())

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: entries, totals, accounts of the datasets and default budgets."""
        found = self._read()
        return {
            "entries": [one.to_dict() for one in found.entries],
            "totals": [one.to_dict() for one in found.totals()],
            "accounts": [found.account(name).to_dict() for name in found.datasets],
            "defaults": {name: one.words for name, one in found.budgets.defaults},
        }

    def _shown(self) -> Parts:
        found = self._read()
        said = [f"Default budget of {name}, for every dataset: {one.words}." for name, one in found.budgets.defaults]
        title = f"Ledger {str(self.path)!r}" + ("" if found.datasets else ": nothing was released yet")
        return [title, *said, *(part for name in found.datasets for part in ("", found.account(name)))]


def _state(db: sqlite3.Connection, entry: int) -> str | None:
    found = db.execute("SELECT state FROM releases WHERE id = ?", (int(entry),)).fetchone()
    return None if found is None else str(found[0])


def _change(db: sqlite3.Connection, entry: int, state: str, digest: str | None, possible: Sequence[str]) -> None:
    was = _state(db, entry)
    if was not in possible:
        what = "does not exist" if was is None else f"is {was} already"
        raise InvalidInput(f"Entry {entry} of the ledger {what}; only a reserved one can become {state}.")
    db.execute("UPDATE releases SET state = ?, released_digest = ? WHERE id = ?", (state, digest, int(entry)))
