"""The ledger: what was released of which secret, what all of it reveals together, and a budget that is kept."""

from __future__ import annotations

import csv
import hmac
import io
import json
import os
import sqlite3
from collections.abc import Hashable, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from leakwise.alphabet import Bins, edges_of
from leakwise.charts.shown import Parts, Shown, Table
from leakwise.documents import write_atomically
from leakwise.errors import Infeasible, InvalidInput, some_of
from leakwise.exact import Level, float_above, level
from leakwise.guarantee import at_most
from leakwise.priors import AllPriors
from leakwise.proof import Certificate, StratifiedCertificate, prior_cost
from leakwise.tables.ledger.entries import BESIDE, COLUMNS, Beside, LedgerEntry, entry_of, row_of
from leakwise.tables.ledger.joint_total import rounded_sum
from leakwise.tables.ledger.ledger_file import ROWS, LedgerFile, migrate, version_of
from leakwise.tables.ledger.overlaps import connected
from leakwise.tables.ledger.row_total import seen_beside
from leakwise.tables.ledger.totals import LedgerTotal, beyond_budget, total_of
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

    def set_budget(self, dataset: str, secret: Any, epsilon: object = None, *, lift: object = None) -> None:
        """The most that all releases of a secret together may reveal, from now on: ε in nats, or the factor e^ε."""
        asked = level(epsilon, lift)
        kind, value = asked.stored
        with self._file.writing() as db:
            db.execute(
                "INSERT OR REPLACE INTO budgets VALUES (?, ?, ?, ?)", (_text(dataset), _names(secret), kind, str(value))
            )

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
            Of the secret column (:meth:`digest`), by which a column is known again under another name.
        row
            What goes out beside the secret. Left out, the given columns of a stratified mechanism, or nothing is known.
        """
        beside, leaked = _beside(certificate, row), float(certificate.epsilon_upper)
        if isinstance(certificate, Certificate) and beside is not None and beside.prior_cost:
            leaked = rounded_sum([leaked, float_above(beside.prior_cost)])
        entry = LedgerEntry(
            0,
            datetime.now(UTC).isoformat(timespec="seconds"),
            "reserved",
            _text(dataset),
            tuple(json.loads(_names(secret))),
            certificate.mechanism,
            certificate.priors if isinstance(certificate, StratifiedCertificate) else certificate.prior,
            origin,
            leaked,
            max(failure, certificate.failure),
            rows,
            source_digest,
            None,
            _order(secret),
            beside,
        )
        with self._file.writing() as db:
            entries = self._entries(db)
            self._refuse_other_name(entry, entries)
            self._refuse_beyond_budgets(db, entry, entries)
            names, values = [*COLUMNS, BESIDE], row_of(entry)
            if entry.beside is None:
                names, values = names[:-1], values[:-1]
            else:
                migrate(db, ROWS)
            marks = ", ".join("?" * len(names))
            cursor = db.execute(f"INSERT INTO releases ({', '.join(names)}) VALUES ({marks})", values)
            assert cursor.lastrowid is not None
            return cursor.lastrowid

    def confirm(self, entry: int, *, released_digest: str | None = None) -> None:
        """The release of a reserved entry was made."""
        self._change(entry, "released", released_digest)

    def cancel(self, entry: int) -> None:
        """The release of a reserved entry was not made, and nobody has seen any of it: it counts no more."""
        self._change(entry, "cancelled", None)

    def _change(self, entry: int, state: str, digest: str | None) -> None:
        with self._file.writing() as db:
            done = db.execute(
                "UPDATE releases SET state = ?, released_digest = ? WHERE id = ? AND state = 'reserved'",
                (state, digest, int(entry)),
            )
            if not done.rowcount:
                found = db.execute("SELECT state FROM releases WHERE id = ?", (int(entry),)).fetchone()
                what = "does not exist" if found is None else f"is {found[0]} already"
                raise InvalidInput(f"Entry {entry} of the ledger {what}; only a reserved one can become {state}.")

    def _refuse_beyond_budgets(self, db: sqlite3.Connection, entry: LedgerEntry, entries: list[LedgerEntry]) -> None:
        """Check every budget whose columns the release tells about, be it through other releases."""
        after = [*entries, entry]
        reached = {name for one in connected(after, entry.dataset, entry.secret) for name in one.secret}
        # A column that goes out as it is changes what all totals of the data compare with, and may have a budget.
        new = entry.row.seen - seen_beside(entries, entry.dataset)
        for (names,) in db.execute("SELECT secret FROM budgets WHERE dataset = ?", (entry.dataset,)).fetchall():
            secret = tuple(json.loads(names))
            budget = self._budget(db, entry.dataset, secret)
            if budget is None or not (new or reached.intersection(secret)):
                continue
            total = total_of(after, entry.dataset, secret, budget)
            if not total.within_budget:
                raise Infeasible(
                    beyond_budget(entry, total, total_of(entries, entry.dataset, secret, budget)), witness=total
                )

    def _refuse_other_name(self, entry: LedgerEntry, entries: Sequence[LedgerEntry]) -> None:
        for one in entries:
            same = one.source_digest is not None and one.source_digest == entry.source_digest
            if same and one.counts and (one.dataset, one.secret) != (entry.dataset, entry.secret):
                raise InvalidInput(
                    f"This very column was released before as {some_of(one.secret)} of {one.dataset!r} (entry "
                    f"{one.id}). Its releases add up only under one name: use dataset={one.dataset!r} (--dataset) "
                    "and the same columns."
                )

    def digest(self) -> hmac.HMAC:
        """Return a new keyed digest (HMAC-SHA-256) to put a column into."""
        return hmac.new(self._file.key, digestmod="sha256")

    # -- reading ------------------------------------------------------------------------------------------------

    def entries(self, dataset: str | None = None, secret: Any = None) -> list[LedgerEntry]:
        """Return the entries in the order they were made, of one dataset or secret if named."""
        with self._file.reading() as db:
            found = self._entries(db)
        wanted = None if secret is None else tuple(json.loads(_names(secret)))
        return [
            one
            for one in found
            if (dataset is None or one.dataset == dataset) and (wanted is None or one.secret == wanted)
        ]

    def _entries(self, db: sqlite3.Connection) -> list[LedgerEntry]:
        beside = BESIDE if version_of(db) >= ROWS else "NULL"
        rows = db.execute(f"SELECT id, {', '.join(COLUMNS)}, {beside} FROM releases ORDER BY id").fetchall()
        return [entry_of(row, str(self.path)) for row in rows]

    def _budget(self, db: sqlite3.Connection, dataset: str, secret: tuple[str, ...]) -> Level | None:
        found = db.execute(
            "SELECT kind, value FROM budgets WHERE dataset = ? AND secret = ?", (dataset, _names(secret))
        ).fetchone()
        if found is None:
            return None
        value = Fraction(found[1])
        return level(lift=value) if found[0] == "lift" else level(value)

    def total(self, dataset: str, secret: Any) -> LedgerTotal:
        """Return what all releases of a secret reveal together, and the budget it has."""
        names = tuple(json.loads(_names(secret)))
        with self._file.reading() as db:
            return total_of(self._entries(db), _text(dataset), names, self._budget(db, dataset, names))

    def totals(self) -> list[LedgerTotal]:
        """Return the total of every secret that has an entry or a budget."""
        with self._file.reading() as db:
            entries = self._entries(db)
            budgets = db.execute("SELECT dataset, secret FROM budgets").fetchall()
            known = dict.fromkeys((one.dataset, one.secret) for one in entries)
            known.update(dict.fromkeys((dataset, tuple(json.loads(names))) for dataset, names in budgets))
            return [total_of(entries, *key, self._budget(db, *key)) for key in known]

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
        """Return plain data: entries and totals."""
        return {
            "entries": [one.to_dict() for one in self.entries()],
            "totals": [one.to_dict() for one in self.totals()],
        }

    def _shown(self) -> Parts:
        totals = self.totals()
        rows: list[list[object]] = [
            [
                one.dataset,
                ", ".join(one.secret),
                one.releases,
                at_most(one.epsilon, 6),
                at_most(one.lift, 6),
                "exact" if one.exact else "bound",
                "" if one.budget is None else one.budget.words,
            ]
            for one in totals
        ]
        headers = ["dataset", "secret", "releases", "total ε", "total lift", "how", "budget"]
        told = [one.sentence for one in totals if one.beside is not None]
        return [Table(headers, rows, f"Ledger {str(self.path)!r}: what is revealed in all"), *([told] if told else [])]


def _beside(certificate: Certificate | StratifiedCertificate, row: RowColumns | None) -> Beside | None:
    """What is entered of the columns that go out beside the secret, and of what its prior cost; None for neither."""
    given: tuple[Hashable, ...] = ()
    if isinstance(certificate, StratifiedCertificate):
        given, cost = certificate.mechanism.given, certificate.cost
    else:
        cost = prior_cost(certificate.prior)
    if row is not None and isinstance(certificate, Certificate) and isinstance(certificate.prior, AllPriors):
        given = row.given  # what holds for every prior holds beside any column
    if row is not None and row.given and set(row.given) != set(given):
        raise InvalidInput(
            f"The certificate must be beside the columns that go out with the secret, {some_of(row.given)}. It is "
            f"beside {some_of(given) or 'none'}."
        )
    unrelated = () if row is None else row.unrelated
    if not given and not unrelated and not cost:
        return None
    coarse = {} if row is None else dict(row.coarsened)
    if isinstance(certificate, StratifiedCertificate):
        columns = certificate.mechanism.given_columns
        coarse |= {name: one for name, one in zip(given, columns.domains, strict=True) if isinstance(one, Bins)}
    bins = {str(name): tuple(edges_of(one) or ()) for name, one in coarse.items() if name in (*given, *unrelated)}
    return Beside(tuple(map(str, given)), tuple(map(str, unrelated)), cost, tuple(sorted(bins.items())))


def _text(name: object) -> str:
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput(f"dataset must be a name. Got {name!r} instead.")
    return name


def _order(secret: Any) -> tuple[str, ...] | None:
    """The columns in the order that the values of a joint secret have; None where one is named twice."""
    names = (secret,) if isinstance(secret, str) else tuple(secret)
    return names if len(set(names)) == len(names) else None


def _names(secret: Any) -> str:
    """The columns of a secret in one fixed order: they are a set."""
    names = [secret] if isinstance(secret, str) else list(secret) if isinstance(secret, (list, tuple)) else []
    if not names or any(not isinstance(name, str) or not name for name in names):
        raise InvalidInput(f"secret must be the name of a column, or a tuple of names. Got {secret!r} instead.")
    return json.dumps(sorted(set(names)), ensure_ascii=False)
