"""Addresses of databases: used whole, shown without their passwords, refused unseen where they are not understood."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leakwise as lw
from leakwise.tables.address import Address, address_of, without_password

SHOWN = {
    "postgresql://ada:s3cret@db.example:5433/clinic": "postgresql://ada@db.example:5433/clinic",
    "postgres://ada:@db/clinic": "postgres://ada@db/clinic",
    "postgresql:///clinic?host=/run/pg&password=s3cret&sslmode=require": (
        "postgresql:///clinic?host=/run/pg&sslmode=require"
    ),
    "postgresql://db?pass%77ord=s3cret": "postgresql://db",
    "postgresql://db/x?sslpassword=s3cret&user=me@host": "postgresql://db/x?user=me@host",
    "postgresql://[::1]:5432,db2:5433/x": "postgresql://[::1]:5432,db2:5433/x",
    "postgresql://:s3cret@/x": "postgresql:///x",
    "postgresql://": "postgresql://",
}


@pytest.mark.parametrize("uri", SHOWN)
def test_an_address_is_shown_without_its_password(uri):
    table = lw.SqlTable(uri, "people")
    assert str(table) == f"people in {SHOWN[uri]}"
    assert repr(table) == f"SqlTable(database={SHOWN[uri]!r}, table='people')"
    assert "s3cret" not in f"{table!r} {table} {table.database!r} {table.path}"
    assert isinstance(table.database, Address)
    assert table.database.uri == uri
    assert without_password(uri) == SHOWN[uri]
    assert address_of(SHOWN[uri]) is not None


@pytest.mark.parametrize(
    "uri",
    [
        "postgresql://ada:s3@cret@db/x",
        "postgresql://ada:s3/cret@db/x",
        "postgresql://ada:12/s3cret@db/x",
        "postgresql://ada:12?s3cret@db/x",
        "postgresql://ada:s3%zzcret@db/x",
        "postgresql://ada:s3cret@[::1/x",
        "postgresql://ada:s3cret@db:s3cret/x",
        "postgresql:/ada:s3cret@db/x",
        "PostgreSQL://ada:s3cret@db/x",
        "postgresql://ada:s3cret\0@db/x",
    ],
)
def test_an_address_that_is_not_understood_is_not_repeated(uri):
    with pytest.raises(lw.InvalidInput, match=r"not shown here because it may contain a password") as caught:
        lw.SqlTable(uri, "people")
    assert "s3" not in str(caught.value)
    assert "cret" not in str(caught.value)


@given(st.text(min_size=4), st.text())
def test_no_password_is_ever_shown(password, database):
    uri = f"postgresql://ada:{password}@db.example/{database}"
    said = uri
    try:
        table = lw.SqlTable(uri, "people")
        assert isinstance(table.database, Address)
        said = f"{table!r} {table.database.hidden(f'cannot use {uri}')}"
    except lw.InvalidInput as error:
        said = str(error)
    assert f":{password}@" not in said


def test_settings_are_added_where_the_address_has_none():
    address = address_of("postgresql://db/x?connect_timeout=3")
    assert address is not None
    assert address.with_defaults(connect_timeout="15", application_name="l") == (
        "postgresql://db/x?connect_timeout=3&application_name=l"
    )
    plain = address_of("postgresql://db/x")
    assert plain is not None
    assert plain.with_defaults(connect_timeout="15") == "postgresql://db/x?connect_timeout=15"
    assert [address_of(uri).name for uri in ("postgresql://h/a%20b", "postgresql://h?dbname=c", "postgresql://h")] == [  # type: ignore[union-attr]
        "a b",
        "c",
        "postgresql",
    ]


def test_where_a_file_belongs_an_address_is_refused_unseen(tmp_path):
    uri, m = "postgresql://ada:s3cret@db/x", lw.randomized_response(["no", "yes"], lift=3)
    table = tmp_path / "t.csv"
    table.write_text("smokes\nno\nyes\n")
    for wrong in (
        lambda: lw.release(uri, m, "smokes", out=tmp_path / "o.csv"),
        lambda: lw.release(table, m, "smokes", out=uri),
        lambda: lw.estimate(uri, m, "smokes"),
    ):
        with pytest.raises(lw.InvalidInput, match=r"lw\.SqlTable\(address, table\)") as caught:
            wrong()
        assert "s3cret" not in str(caught.value)
