"""The server that the tests of PostgreSQL share, and two of its databases, empty for each of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from postgres_server import Database, Server, running_server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with running_server() as found:
        found.ask("CREATE DATABASE clinic", "CREATE DATABASE published")
        yield found


@pytest.fixture
def clinic(server: Server) -> Database:
    """A database that nothing is in."""
    return Database(server, "clinic").emptied()


@pytest.fixture
def published(server: Server) -> Database:
    """Another one."""
    return Database(server, "published").emptied()
