"""Where a table of a database is: the file, or the address of a server."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["FromSqlOption", "ToSqlOption"]

FromSqlOption = Annotated[
    str | None,
    typer.Option(
        "--from-sql",
        metavar="DATABASE",
        help="Read TABLE of a database: a DuckDB or SQLite file, or postgresql://user@host/database (the password from "
        "PGPASSWORD or ~/.pgpass).",
    ),
]

ToSqlOption = Annotated[
    str | None,
    typer.Option("--to-sql", metavar="DATABASE", help="Write to this database [default: that of --from-sql]."),
]
