"""The ledger: what was released of which secret, what all of it reveals together, and a budget that is kept."""

from __future__ import annotations

import csv
import hmac
import io
import json
import os
import secrets as random_bytes
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from leakwise.charts.shown import Parts, Shown, Table
from leakwise.documents import write_atomically
from leakwise.errors import Infeasible, InvalidInput, LeakwiseError, some_of
from leakwise.exact import Level, level
from leakwise.guarantee import at_most
from leakwise.proof import Certificate
from leakwise.tables.ledger.entries import COLUMNS, LedgerEntry, entry_of, row_of
from leakwise.tables.ledger.overlaps import connected
from leakwise.tables.ledger.totals import LedgerTotal, beyond_budget, total_of
from leakwise.tables.release.paths import ledger_files, refuse_same_files

__all__ = ["Ledger"]

_APPLICATION = 0x4C4B5753
_VERSION = 2  # 2: the order of the columns of a joint secret
# Composing many releases exactly can take a while, and it is done while the ledger is held.
_PATIENCE = 120.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS keys (name TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS releases (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    time TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('reserved', 'released', 'cancelled')),
    dataset TEXT NOT NULL,
    secret TEXT NOT NULL,
    mechanism TEXT NOT NULL,
    prior TEXT NOT NULL,
    origin TEXT NOT NULL,
    epsilon REAL NOT NULL,
    failure REAL NOT NULL,
    rows INTEGER,
    source_digest TEXT,
    released_digest TEXT
);
CREATE TABLE IF NOT EXISTS budgets (
    dataset TEXT NOT NULL,
    secret TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('epsilon', 'lift')),
    value TEXT NOT NULL,
    PRIMARY KEY (dataset, secret)
);
"""
# What makes a ledger of each version one of the next.
_STEPS = (_SCHEMA, "ALTER TABLE releases ADD COLUMN columns TEXT;")


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
        self.path = Path(path)
        if self.path.is_dir() or not self.path.parent.is_dir():
            raise InvalidInput(
                f"ledger must be the path of a file in a folder that exists. Got {str(self.path)!r} instead."
            )
        try:
            # Made by hand, so that only its owner can read it: SQLite would follow the umask.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise InvalidInput(f"Cannot open the ledger {str(self.path)!r}: {error.strerror}.") from error
        with self._connected() as db:
            self._prepare(db)
            found = db.execute("SELECT value FROM keys WHERE name = 'digest'").fetchone()
            if found is None or not isinstance(found[0], bytes):
                raise sqlite3.DatabaseError("it has no key")
        self._key = found[0]

    # -- the file -----------------------------------------------------------------------------------------------

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """A connection for one piece of work, with errors that say what to do."""
        db = None
        try:
            db = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
            db.execute("PRAGMA synchronous = FULL")
            yield db
        except sqlite3.OperationalError as error:
            if "locked" in str(error) or "busy" in str(error):
                raise LeakwiseError(
                    f"The ledger {str(self.path)!r} is held by another process for more than {_PATIENCE:g} seconds. "
                    "Nothing was entered and nothing released; try again when it is done."
                ) from error
            raise InvalidInput(f"Cannot use the ledger {str(self.path)!r}: {error}.") from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise InvalidInput(
                f"{str(self.path)!r} is not a ledger, or it is damaged ({error}). Put back a copy; a new ledger would "
                "forget what was released."
            ) from error
        finally:
            if db is not None:
                db.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction that nobody else can write beside."""
        with self._connected() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                with suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")

    def _prepare(self, db: sqlite3.Connection) -> None:
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if (application, tables) != (0, 0) and application != _APPLICATION:
            raise InvalidInput(f"{str(self.path)!r} is a database of something else, not a ledger. Name another file.")
        if version > _VERSION:
            raise InvalidInput(
                f"{str(self.path)!r} was written by a newer Leakwise. Update with: pip install -U leakwise"
            )
        (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise sqlite3.DatabaseError(found)
        if version == _VERSION:
            return
        if not version:
            db.execute("PRAGMA journal_mode = WAL")
        db.execute("BEGIN IMMEDIATE")
        (version,) = db.execute("PRAGMA user_version").fetchone()  # another process may have been faster
        for step in _STEPS[version:]:
            for statement in filter(str.strip, step.split(";")):
                db.execute(statement)
        db.execute("INSERT OR IGNORE INTO keys VALUES ('digest', ?)", (random_bytes.token_bytes(32),))
        db.execute(f"PRAGMA application_id = {_APPLICATION}")
        db.execute(f"PRAGMA user_version = {_VERSION}")
        db.execute("COMMIT")

    # -- entering -----------------------------------------------------------------------------------------------

    def set_budget(self, dataset: str, secret: Any, epsilon: object = None, *, lift: object = None) -> None:
        """The most that all releases of a secret together may reveal, from now on: ε in nats, or the factor e^ε."""
        asked = level(epsilon, lift)
        kind, value = asked.stored
        with self._writing() as db:
            db.execute(
                "INSERT OR REPLACE INTO budgets VALUES (?, ?, ?, ?)", (_text(dataset), _names(secret), kind, str(value))
            )

    def reserve(
        self,
        dataset: str,
        secret: Any,
        certificate: Certificate,
        *,
        origin: str = "given",
        failure: float = 0.0,
        rows: int | None = None,
        source_digest: str | None = None,
    ) -> int:
        """Enter a release that is about to be made, and give back its number; refuse one that is beyond the budget.

        Parameters
        ----------
        dataset, secret
            Names: of the data, and of the column (or columns) whose values are the secret.
        certificate
            Of the mechanism, for the prior.
        origin, failure
            Where the prior comes from, and with what probability it is wrong.
        rows
            The number of rows.
        source_digest
            Of the secret column (:meth:`digest`), by which a column is known again under another name.
        """
        entry = LedgerEntry(
            0,
            datetime.now(UTC).isoformat(timespec="seconds"),
            "reserved",
            _text(dataset),
            tuple(json.loads(_names(secret))),
            certificate.mechanism,
            certificate.prior,
            origin,
            float(certificate.epsilon_upper),
            max(failure, certificate.failure),
            rows,
            source_digest,
            None,
            _order(secret),
        )
        with self._writing() as db:
            entries = self._entries(db)
            self._refuse_other_name(entry, entries)
            self._refuse_beyond_budgets(db, entry, entries)
            marks = ", ".join("?" * len(COLUMNS))
            cursor = db.execute(f"INSERT INTO releases ({', '.join(COLUMNS)}) VALUES ({marks})", row_of(entry))
            assert cursor.lastrowid is not None
            return cursor.lastrowid

    def confirm(self, entry: int, *, released_digest: str | None = None) -> None:
        """The release of a reserved entry was made."""
        self._change(entry, "released", released_digest)

    def cancel(self, entry: int) -> None:
        """The release of a reserved entry was not made, and nobody has seen any of it: it counts no more."""
        self._change(entry, "cancelled", None)

    def _change(self, entry: int, state: str, digest: str | None) -> None:
        with self._writing() as db:
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
        for (names,) in db.execute("SELECT secret FROM budgets WHERE dataset = ?", (entry.dataset,)).fetchall():
            secret = tuple(json.loads(names))
            budget = self._budget(db, entry.dataset, secret)
            if budget is None or not reached.intersection(secret):
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
                    f"{one.id}). Its releases add up only under one name: use dataset={one.dataset!r} and the same "
                    "columns."
                )

    def digest(self) -> hmac.HMAC:
        """Return a new keyed digest (HMAC-SHA-256) to put a column into."""
        return hmac.new(self._key, digestmod="sha256")

    # -- reading ------------------------------------------------------------------------------------------------

    def entries(self, dataset: str | None = None, secret: Any = None) -> list[LedgerEntry]:
        """Return the entries in the order they were made, of one dataset or secret if named."""
        with self._connected() as db:
            found = self._entries(db)
        wanted = None if secret is None else tuple(json.loads(_names(secret)))
        return [
            one
            for one in found
            if (dataset is None or one.dataset == dataset) and (wanted is None or one.secret == wanted)
        ]

    def _entries(self, db: sqlite3.Connection) -> list[LedgerEntry]:
        rows = db.execute(f"SELECT id, {', '.join(COLUMNS)} FROM releases ORDER BY id").fetchall()
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
        with self._connected() as db:
            return total_of(self._entries(db), _text(dataset), names, self._budget(db, dataset, names))

    def totals(self) -> list[LedgerTotal]:
        """Return the total of every secret that has an entry or a budget."""
        with self._connected() as db:
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
            for one in self.totals()
        ]
        headers = ["dataset", "secret", "releases", "total ε", "total lift", "how", "budget"]
        return [Table(headers, rows, f"Ledger {str(self.path)!r}: what is revealed in all")]


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
