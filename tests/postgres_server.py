"""A PostgreSQL server of the tests' own, from Debian's package, on a socket that nobody else knows.

It refuses to run as root: root's tests run it as the user ``postgres``, whom the package makes.
"""

from __future__ import annotations

import contextlib
import glob
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PASSWORD = "s3cret/p@ss:word?%"
QUOTED = "s3cret%2Fp%40ss%3Aword%3F%25"
SETTINGS = {"listen_addresses": "''", "fsync": "off", "full_page_writes": "off", "shared_buffers": "16MB"}


@dataclass(frozen=True)
class Server:
    """A running server, and how it is asked."""

    folder: Path

    def uri(self, database: str = "postgres", user: str = "postgres", password: str = "") -> str:
        who = f"{user}:{password}" if password else user
        return f"postgresql://{who}@/{database}?host={self.folder}"

    def ask(self, *statements: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Execute statements, each for itself and committed, and return what the last one answers."""
        from adbc_driver_postgresql import dbapi

        rows: list[tuple[Any, ...]] = []
        with dbapi.connect(self.uri(database), autocommit=True) as connection:
            for statement in statements:
                with connection.cursor() as cursor:
                    cursor.execute(statement)
                    rows = cursor.fetchall() if cursor.description else []
        return rows


@dataclass(frozen=True)
class Database:
    """A database of the server, for one test."""

    server: Server
    name: str

    @property
    def uri(self) -> str:
        return self.server.uri(self.name)

    def ask(self, *statements: str) -> list[tuple[Any, ...]]:
        return self.server.ask(*statements, database=self.name)

    def emptied(self) -> Database:
        """Return the database with nothing in it but a schema for all."""
        self.ask(
            # A test that failed can have left some.
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> "
            "pg_backend_pid()",
            "DO $$ DECLARE s text; BEGIN FOR s IN SELECT nspname FROM pg_namespace WHERE nspname !~ "
            "'^(pg_|information_schema$)' LOOP EXECUTE format('DROP SCHEMA %I CASCADE', s); END LOOP; "
            "CREATE SCHEMA public; GRANT USAGE ON SCHEMA public TO public; END $$",
        )
        return self


def _program(name: str) -> str | None:
    places = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), key=lambda path: int(Path(path).parts[-3]))
    return places[-1] if places else shutil.which(name)


def _as_nobody_special(folder: Path) -> list[str]:
    """Return the words before a command that make it run as somebody who is not root, whose the folder becomes."""
    if os.geteuid() != 0:
        return []
    try:
        user = pwd.getpwnam("postgres")
    except KeyError:
        pytest.skip("PostgreSQL does not run as root, and there is no user postgres: apt-get install postgresql")
    os.chown(folder, user.pw_uid, user.pw_gid)
    return ["runuser", "-u", "postgres", "--"]


@contextlib.contextmanager
def running_server() -> Iterator[Server]:
    """Start a server with an empty cluster, and stop it at the end."""
    initdb, control = _program("initdb"), _program("pg_ctl")
    if initdb is None or control is None:
        pytest.skip("PostgreSQL is not here: apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="leakwise-postgres-"))  # short: the path of a socket has little room
    try:
        before = _as_nobody_special(folder)
        data = str(folder / "data")

        def run(*words: str) -> None:
            subprocess.run([*before, *words], check=True, stdout=subprocess.DEVNULL, cwd="/", timeout=120)

        run(initdb, "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync")
        told = " ".join(f"-c {name}={value}" for name, value in SETTINGS.items())
        with (folder / "data" / "pg_hba.conf").open("w") as hba:
            hba.write("local all guarded scram-sha-256\nlocal all all trust\n")
        run(control, "-D", data, "-w", "-l", str(folder / "log"), "-o", f"-k {folder} {told}", "start")
        try:
            yield Server(folder)
        finally:
            run(control, "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder)
