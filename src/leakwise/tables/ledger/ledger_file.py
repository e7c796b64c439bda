"""The file of the ledger: a SQLite database for its owner alone, one transaction at a time, and its older versions."""

from __future__ import annotations

import os
import secrets as random_bytes
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from leakwise.errors import InvalidInput, LeakwiseError

__all__ = ["ACCOUNTS", "LedgerFile", "insert", "migrate", "present", "version_of"]

_APPLICATION = 0x4C4B5753
# 2: the order of the columns of a joint secret; 3: what went out beside the secret; 4: outcomes that a release is
# certified beside, releases that were entered together, draws that repeat by a key, budgets of whole rows and of every
# dataset, whose data it is. A ledger becomes one of the third or fourth version with the first entry that needs it:
# until then older programs can read it.
_VERSION, ACCOUNTS = 2, 4
# The first Leakwise that reads the newest format.
_READER = b"0.2"
_ADDED = {"columns": 2, "beside": 3, "outcomes": 4, "together": 4, "repeats": 4}
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
_STEPS = (
    _SCHEMA,
    "ALTER TABLE releases ADD COLUMN columns TEXT;",
    "ALTER TABLE releases ADD COLUMN beside TEXT;",
    """
    ALTER TABLE releases ADD COLUMN outcomes TEXT;
    ALTER TABLE releases ADD COLUMN together INTEGER;
    ALTER TABLE releases ADD COLUMN repeats TEXT;
    CREATE TABLE independence (dataset TEXT NOT NULL, shown TEXT NOT NULL);
    CREATE TABLE people (dataset TEXT PRIMARY KEY, sketch BLOB NOT NULL);
    CREATE TABLE same_data (name TEXT PRIMARY KEY, dataset TEXT NOT NULL);
    CREATE TABLE other_people (dataset TEXT NOT NULL, other TEXT NOT NULL, PRIMARY KEY (dataset, other));
    """,
)


class LedgerFile:
    """The file, made if it does not exist; see :class:`~leakwise.Ledger`."""

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
        with self.connected() as db:
            self._prepare(db)
            found = db.execute("SELECT value FROM keys WHERE name = 'digest'").fetchone()
            if found is None or not isinstance(found[0], bytes):
                raise sqlite3.DatabaseError("it has no key")
        self.key = found[0]

    @contextmanager
    def connected(self) -> Iterator[sqlite3.Connection]:
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
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One moment of the ledger, whatever others write meanwhile."""
        with self.connected() as db:
            db.execute("BEGIN")
            yield db

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction that nobody else can write beside."""
        with self.connected() as db:
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
        if version > ACCOUNTS:
            told = db.execute("SELECT value FROM keys WHERE name = 'reader'").fetchone()
            reader = "" if told is None else f">={bytes(told[0]).decode()}"
            raise InvalidInput(
                f"{str(self.path)!r} is a ledger of format {version}, written by a newer Leakwise; this one reads "
                f"formats up to {ACCOUNTS}. One that reads it: pip install -U 'leakwise{reader}'"
            )
        (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise sqlite3.DatabaseError(found)
        if version >= _VERSION:
            return
        if not version:
            db.execute("PRAGMA journal_mode = WAL")
        db.execute("BEGIN IMMEDIATE")
        migrate(db, _VERSION)
        db.execute("INSERT OR IGNORE INTO keys VALUES ('digest', ?)", (random_bytes.token_bytes(32),))
        db.execute(f"PRAGMA application_id = {_APPLICATION}")
        db.execute("COMMIT")


def version_of(db: sqlite3.Connection) -> int:
    """Return the version of the file as it is now: another process may have been faster."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    return int(version)


def present(columns: Sequence[str], version: int) -> list[str]:
    """Return the columns of releases as a ledger of this version can be asked for them: NULL for those it lacks."""
    return [name if _ADDED.get(name, 1) <= version else "NULL" for name in columns]


def insert(db: sqlite3.Connection, columns: Sequence[str], values: Sequence[object]) -> int:
    """Enter a release and return its number, in a ledger of the least version that has room for what it says."""
    told = {name: value for name, value in zip(columns, values, strict=True) if value is not None}
    migrate(db, max(_VERSION, *(_ADDED.get(name, 1) for name in told)))
    marks = ", ".join("?" * len(told))
    cursor = db.execute(f"INSERT INTO releases ({', '.join(told)}) VALUES ({marks})", tuple(told.values()))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def migrate(db: sqlite3.Connection, version: int) -> None:
    """Make a ledger of an older version one of this, within the transaction that is open: all of it, or nothing."""
    for step in _STEPS[version_of(db) : version]:
        for statement in filter(str.strip, step.split(";")):
            db.execute(statement)
    if version_of(db) < version == ACCOUNTS:
        # An older program that cannot read it can say which one does.
        db.execute("INSERT OR REPLACE INTO keys VALUES ('reader', ?)", (_READER,))
    db.execute(f"PRAGMA user_version = {max(version, version_of(db))}")
