"""A session with a PostgreSQL server: how it begins, what it goes by, and what is said when it fails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import adbc_driver_manager as adbc
from adbc_driver_postgresql import dbapi

from leakwise.errors import InvalidInput, MissingExtra
from leakwise.tables.address import Address

__all__ = ["SESSION", "connected", "literal", "said_by"]

# Before it 0.25 came out as 25.
_OLDEST = (1, 11)
# The same texts for the same values on every server, and the rows of a table as they lie: neither from where another
# session happens to be reading, nor by several processes. A release takes its time between two reads.
SESSION = {
    "client_encoding": "UTF8",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "lc_monetary": "C",
    "synchronize_seqscans": "off",
    "max_parallel_workers_per_gather": "0",
    "idle_in_transaction_session_timeout": "0",
    # A table that others hold, or that is read for this very release, is not waited for without end.
    "lock_timeout": "10s",
}


@contextmanager
def connected(address: Address) -> Iterator[Any]:
    """A connection in a transaction; what the server says is an error of ours, without a password in it."""
    connection, driver = None, version("adbc-driver-postgresql")
    if tuple(map(int, driver.split(".")[:2])) < _OLDEST:
        raise MissingExtra(
            f"PostgreSQL needs adbc-driver-postgresql {'.'.join(map(str, _OLDEST))} or newer: {driver}, which is "
            "installed, writes decimal numbers wrong. Update with: pip install -U 'leakwise[postgres]'"
        )
    try:
        uri = address.with_defaults(connect_timeout="15", application_name="leakwise")
        connection = dbapi.connect(uri)
        yield connection
    except adbc.Error as error:
        said = said_by(error, address)
        doing = "Cannot connect to" if connection is None else "The database"
        # Not from the error itself: what libpq says can quote the whole address.
        raise InvalidInput(f"{doing} {address}{'' if connection is None else ' says'}: {said}") from None
    finally:
        if connection is not None:
            connection.close()  # and with it a transaction that was not committed


def said_by(error: Exception, address: Address) -> str:
    """What the server said, without the words that ADBC puts around it, and without a password."""
    message = address.hidden(str(error))
    found = re.search(r"(?:ERROR|FATAL):\s+(.*?)(?=\n|$)(?:\n(?:.*\n)*?(?:HINT|DETAIL):\s+(.*))?", message)
    if found is None or "Failed to connect: " in message:
        parts = [message.rpartition("Failed to connect: ")[2]]
    else:
        parts = [one for one in found.groups() if one]
    return " ".join(" ".join(parts).split()).rstrip(".") + "."


def literal(value: str) -> str:
    """A text as it stands in a statement."""
    signs = value.replace("\\", "\\\\").replace("'", "''")
    return f" E'{signs}'"
