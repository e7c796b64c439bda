"""Strata through every kind of table: drawn by the right mechanism, coarsened and dropped columns gone for good."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
import os
import pickle
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leakwise as lw
from leakwise.alphabet import GivenColumns
from leakwise.errors import InvalidInput, LeakwiseWarning, RowOrderWarning
from leakwise.tables import SqlTable
from leakwise.tables.formats import SUFFIXES, open_table
from leakwise.tables.kinds import frames
from leakwise.tables.release.sources import open_source

# Each stratum has outcomes of its own, so that a row says which mechanism drew for it.
DOMAIN = ["no", "yes"]
FILES = (".csv", ".tsv", ".parquet", ".arrow", ".arrows", ".feather", ".jsonl")
BASES = ("sqlite", "duckdb")
MEMORY = ("dict", "pandas", "polars", "arrow")
AGES = lw.bins(0, 100, 2)


def mechanism(name: str) -> lw.Mechanism:
    matrix = [["11/16", "5/16"], ["5/16", "11/16"]]
    return lw.Mechanism(matrix, inputs=DOMAIN, outputs=[f"{name}0", f"{name}1"])


def stratified(ages: Any = AGES, **options: Any) -> lw.StratifiedMechanism:
    young, old = AGES.labels[:2]
    own = {("f", young): mechanism("fy"), ("f", old): mechanism("fo"), ("m", young): mechanism("my")}
    options = {"otherwise": mechanism("else"), "secret": "ill", **options}
    return lw.StratifiedMechanism(own, given={"sex": ["f", "m"], "age": ages}, **options)


def rows(count: int = 300, seed: int = 0) -> dict[str, list[Any]]:
    """Ages that leave traces: none of them is the edge of a bin, or occurs anywhere else."""
    generator = np.random.default_rng(seed)
    return {
        "name": [f"person-{row}" for row in generator.permutation(count)],
        "sex": generator.choice(["f", "m"], count).tolist(),
        "age": [float(age) + 0.8125 for age in generator.integers(0, 99, count)],
        "ill": generator.choice(DOMAIN, count).tolist(),
        "zip": [f"zip-{row}" for row in generator.integers(0, 50, count)],
    }


def expected(sex: Any, age: Any) -> str:
    if sex not in ("f", "m") or age is None or (sex == "m" and age >= 50):
        return "else"
    return f"{sex}{'y' if age < 50 else 'o'}"


def bin_of(age: Any) -> Any:
    return None if age is None else AGES.labels[0 if age < 50 else 1]


def stored(data: dict[str, list[Any]], kind: str, folder: Path) -> Any:
    """The table as a file, as a table of a database, or in memory."""
    if kind in MEMORY:
        make: Callable[..., Any] = {"dict": dict, "pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}[
            kind
        ]
        return make(data)
    frame, path = pd.DataFrame(data), folder / f"table{kind}"
    if kind in (".csv", ".tsv"):
        frame.to_csv(path, index=False, sep="\t" if kind == ".tsv" else ",")
    elif kind == ".jsonl":
        lines = [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    elif kind == ".parquet":
        pq.write_table(pa.table(data), path, row_group_size=100)
    elif kind in FILES:
        opened = pa.ipc.new_stream if kind == ".arrows" else pa.ipc.new_file
        with opened(path, pa.table(data).schema) as writer:
            writer.write_table(pa.table(data), max_chunksize=100)
    elif kind == "sqlite":
        with contextlib.closing(sqlite3.connect(folder / "base.sqlite")) as connection:
            frame.to_sql("people", connection, index=False)
        return SqlTable(folder / "base.sqlite", "people")
    else:
        with duckdb.connect(str(folder / "base.duckdb")) as connection:
            connection.execute("CREATE TABLE people AS SELECT * FROM frame")
        return SqlTable(folder / "base.duckdb", "people")
    return path


def target(data: Any, folder: Path) -> Any:
    if isinstance(data, SqlTable):
        return SqlTable(folder / f"released{data.path.suffix}", "people")
    return folder / f"released{data.suffix}" if isinstance(data, Path) else None


def released(data: Any, sm: Any, folder: Path, **options: Any) -> Any:
    """The release through a source, as ``protect`` makes it."""
    order = options.pop("order", "keep")
    source = open_source(data, target(data, folder), overwrite=False, progress=None, order=order, **options)
    source.check(("ill",), sm.input_alphabet, given=getattr(sm, "given_columns", None))
    return source.release([sm], None)


def columns(table: Any) -> dict[str, list[Any]]:
    """The columns of a table of any kind, missing values as None."""
    if isinstance(table, SqlTable):
        found: dict[str, list[Any]] = {name: [] for name in table.names}
        for batch in table.batches(table.names):
            for name, values in found.items():
                part = batch[name]
                values += part.to_pylist() if hasattr(part, "to_pylist") else list(part)
        return found
    if isinstance(table, Path):
        if table.suffix in (".csv", ".tsv"):
            frame = pd.read_csv(table, sep="\t" if table.suffix == ".tsv" else ",", keep_default_na=False)
            return {str(name): [None if one == "" else one for one in frame[name]] for name in frame}
        if table.suffix == ".jsonl":
            lines = [json.loads(line) for line in table.read_text().splitlines()]
            return {name: [line[name] for line in lines] for name in lines[0]}
        opened = open_table(table)
        batches = list(opened.batches(opened.names))
        return {name: [one for batch in batches for one in batch[name].to_pylist()] for name in opened.names}
    found = {str(name): frames.column_of(table, name) for name in frames.column_names(table)}
    plain = {name: one.to_pylist() if hasattr(one, "to_pylist") else list(one) for name, one in found.items()}
    return {name: [None if one != one else one for one in values] for name, values in plain.items()}


@pytest.mark.parametrize("kind", [*MEMORY, *FILES, *BASES])
def test_rows_go_through_the_mechanism_of_their_stratum_and_others_through_otherwise(kind: str, tmp_path: Path) -> None:
    data = rows()
    data["sex"][:21] = ["x"] * 20 + [None]  # never declared
    out = columns(released(stored(data, kind, tmp_path), stratified(), tmp_path))
    assert list(out) == list(data)
    wanted = [expected(sex, age) for sex, age in zip(data["sex"], data["age"], strict=True)]
    assert set(wanted) == {"fy", "fo", "my", "else"}
    assert [outcome[:-1] for outcome in out["ill"]] == wanted
    assert out["age"] == [bin_of(age) for age in data["age"]]
    assert out["name"] == data["name"]
    assert out["sex"] == data["sex"]


@pytest.mark.parametrize("kind", [*FILES, *BASES])
def test_the_public_release_and_the_estimate_take_files_and_databases(kind: str, tmp_path: Path) -> None:
    data = {name: values for name, values in rows(6000, seed=3).items() if name in ("sex", "age", "ill")}
    source, sm = stored(data, kind, tmp_path), stratified()
    done = lw.release(source, sm, out=target(source, tmp_path))
    carried = kind in (".parquet", ".arrow", ".arrows", ".feather")
    own = None if carried else sm
    e = lw.estimate(done, own)
    truth = np.array([data["ill"].count(value) / 6000 for value in DOMAIN])
    assert (np.abs(e.frequencies - truth) < 6 * e.standard_error).all()
    assert e.sample_size == 6000
    by = lw.estimate(done, own, by=["sex"])
    men = [ill for sex, ill in zip(data["sex"], data["ill"], strict=True) if sex == "m"]
    assert by["m"].sample_size == len(men)
    assert abs(by["m"].frequencies[1] - men.count("yes") / len(men)) < 6 * by["m"].standard_error[1]
    if carried:
        memory = pa.ipc.open_stream(done).read_all() if kind == ".arrows" else None
        memory = pq.read_table(done) if kind == ".parquet" else memory or pa.ipc.open_file(done).read_all()
        assert lw.estimate(memory).frequencies == pytest.approx(e.frequencies)
        again = lw.randomized_response(sm.outputs, lift=2)
        with pytest.raises(InvalidInput, match="was released before"):
            lw.release(done, again, "ill", out=tmp_path / f"again{kind}", order="keep")


@pytest.mark.parametrize("kind", [*MEMORY, *FILES, *BASES])
def test_dropped_columns_and_true_numbers_of_coarsened_ones_are_nowhere_in_what_goes_out(
    kind: str, tmp_path: Path
) -> None:
    data, folder = rows(), tmp_path / "out"
    folder.mkdir()
    source = stored(data, kind, tmp_path)
    out = released(source, stratified(), folder, drop=["name", "zip"])
    assert list(columns(out)) == ["sex", "age", "ill"]
    if isinstance(out, (Path, SqlTable)):
        written = b"".join(file.read_bytes() for file in folder.iterdir())
    elif kind == "arrow":
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, out.schema) as writer:
            writer.write_table(out)
        written = sink.getvalue().to_pybytes()
    else:
        written = out.write_ipc(None).getvalue() if kind == "polars" else pickle.dumps(out)
    for trace in (b"person-", b"zip", b".8125", np.float64(data["age"][0]).tobytes()):
        assert trace not in written


@pytest.mark.parametrize("kind", [*MEMORY, *FILES, *BASES])
@pytest.mark.parametrize("order", ["keep", "shuffle"])
def test_plain_mechanisms_go_with_dropped_and_coarsened_columns_too(kind: str, order: str, tmp_path: Path) -> None:
    data = rows(100)
    source = stored(data, kind, tmp_path)
    out = columns(released(source, mechanism("a"), tmp_path, order=order, drop=["sex"], coarsen={"age": AGES}))
    assert list(out) == ["name", "age", "ill", "zip"]
    ages = dict(zip(data["name"], data["age"], strict=True))
    assert out["age"] == [bin_of(ages[name]) for name in out["name"]]
    assert (out["name"] == data["name"]) == (order == "keep")


@pytest.mark.parametrize("kind", [*MEMORY, *FILES, *BASES])
def test_missing_values_of_a_coarsened_column_stay_missing_and_go_through_otherwise(kind: str, tmp_path: Path) -> None:
    data = rows(60)
    data["age"][5] = data["age"][41] = None
    source = stored(data, kind, tmp_path)
    out = columns(released(source, stratified(), tmp_path))
    for place in (5, 41):
        assert out["age"][place] is None
        assert out["ill"][place].startswith("else")
    assert out["age"][6] == bin_of(data["age"][6])


@pytest.mark.parametrize("kind", [*MEMORY, *FILES, *BASES])
def test_a_number_outside_of_its_bins_is_refused_before_anything_is_written(kind: str, tmp_path: Path) -> None:
    data = rows(60)
    data["age"][17] = 100.5
    source = stored(data, kind, tmp_path)
    for options in ({}, {"coarsen": {"age": AGES}}):
        with pytest.raises(InvalidInput, match=r"column 'age' has 1 of .*outside the declared domain: '?100\.5"):
            released(source, stratified(), tmp_path, **options)
    assert not list(tmp_path.glob("released*"))


@pytest.mark.parametrize("kind", [*MEMORY, *FILES, *BASES])
def test_a_check_counts_by_stratum_and_lists_the_values_that_go_out(kind: str, tmp_path: Path) -> None:
    data = rows(200)
    data["sex"][:3] = ["x", None, "x"]
    source = stored(data, kind, tmp_path)
    opened = open_source(source, target(source, tmp_path), overwrite=False, progress=None, order=None)
    opened.coarsen = {"age": AGES}
    missing = "" if kind in (".csv", ".tsv") else None
    assert set(opened.distinct("sex", 4) or []) == {"f", "m", "x", missing}
    assert opened.distinct("sex", 3) is None
    assert opened.distinct("name", 100) is None
    assert opened.distinct("age", 5) == list(AGES.labels)
    given = GivenColumns({"sex": ["f", "m"], "age": AGES.labels})
    seen = opened.check(("ill",), lw.Prior.uniform(DOMAIN).alphabet, given=given)
    assert seen.strata is not None
    for key in seen.strata:
        pairs = zip(data["sex"], data["age"], data["ill"], strict=True)
        own = [ill for sex, age, ill in pairs if (sex, bin_of(age)) == key]
        assert seen.strata[key] == [own.count(value) for value in DOMAIN]
    assert sum(map(sum, seen.strata.values())) == 197
    assert seen.counts.sum() == 200
    assert seen.order is not None


def test_a_million_ids_can_be_given_although_nothing_is_listed(tmp_path: Path) -> None:
    data = {"id": [f"id{row}" for row in range(500)], "ill": ["no", "yes"] * 250}
    sm = lw.StratifiedMechanism({}, given={"id": [None]}, secret="ill", otherwise=mechanism("else"))
    out = columns(lw.release(stored(data, ".csv", tmp_path), sm, out=tmp_path / "out.csv", order="keep"))
    assert out["id"] == data["id"]
    assert {outcome[:-1] for outcome in out["ill"]} == {"else"}
    sm.save(tmp_path / "sm.json")
    assert lw.StratifiedMechanism.load(tmp_path / "sm.json") == sm
    assert lw.estimate(tmp_path / "out.csv", sm).sample_size == 500


# ----------------------------------------------------------------------------------------- what an attacker tries


def test_a_dictionary_lists_no_true_number_of_a_coarsened_column(tmp_path: Path) -> None:
    data = rows(100)
    table = pa.table({**data, "age": pa.array(data["age"]).dictionary_encode()})
    pq.write_table(table, tmp_path / "t.parquet")
    for out in (
        released(table, stratified(), tmp_path, drop=["name", "zip"]),
        pq.read_table(released(tmp_path / "t.parquet", stratified(), tmp_path, drop=["name", "zip"])),
    ):
        assert set(out["age"].unique().to_pylist()) == set(AGES.labels)
        for chunk in out["age"].chunks:
            listed = chunk.dictionary.to_pylist() if hasattr(chunk, "dictionary") else []
            assert set(listed) <= {*AGES.labels, None}
    frame = pd.DataFrame(data).astype({"age": "category"})
    assert set(released(frame, stratified(), tmp_path)["age"].cat.categories) == set(AGES.labels)


def test_the_statistics_of_row_groups_are_those_of_what_goes_out(tmp_path: Path) -> None:
    out = released(stored(rows(), ".parquet", tmp_path), stratified(), tmp_path, drop=["name"])
    meta = pq.read_metadata(out)
    assert meta.num_row_groups == 3
    for place in range(meta.num_row_groups):
        group = meta.row_group(place)
        held = {group.column(at).path_in_schema: group.column(at).statistics for at in range(group.num_columns)}
        assert "name" not in held
        assert {held["age"].min, held["age"].max} <= set(AGES.labels)


def test_what_pandas_noted_about_a_dropped_column_or_index_stays_behind(tmp_path: Path) -> None:
    frame = pd.DataFrame(rows(100)).set_index("name")
    frame.to_parquet(tmp_path / "t.parquet")
    out = released(tmp_path / "t.parquet", stratified(), tmp_path, drop=["name", "zip"])
    note = json.loads(pq.read_schema(out).metadata[b"pandas"])
    assert note["index_columns"] == []
    assert [entry["name"] for entry in note["columns"]] == ["sex", "age", "ill"]
    assert b"person-" not in out.read_bytes()
    assert list(pd.read_parquet(out).columns) == ["sex", "age", "ill"]


@pytest.mark.parametrize("column", ["zip", "age"])
def test_an_index_that_repeats_a_dropped_or_coarsened_column_is_refused(column: str, tmp_path: Path) -> None:
    frame = pd.DataFrame(rows(100))
    for index in (frame[column], frame[column].rename(None)):
        with pytest.raises(InvalidInput, match=rf"The index has the (name|values) of column '{column}'"):
            released(frame.set_index(index, drop=False), stratified(), tmp_path, drop=["zip"])
    assert list(
        released(frame.set_index(frame["zip"]), stratified(), tmp_path, drop=["zip"], order="shuffle").index
    ) == list(range(100))


def test_a_dropped_column_of_pandas_is_not_in_the_memory_that_is_shared(tmp_path: Path) -> None:
    frame = pd.DataFrame({"ill": ["no", "yes"], "a": [1.5, 2.5], "b": [7.25, 8.25]})
    out = released(frame, mechanism("a"), tmp_path, drop=["b"])
    base = out["a"].to_numpy()
    while base.base is not None and isinstance(base.base, np.ndarray):
        base = base.base
    assert 7.25 not in base


def test_a_stratum_that_comes_up_between_the_passes_is_refused_or_served_by_otherwise(tmp_path: Path) -> None:
    data = {"sex": ["f"] * 40, "age": [20.5] * 40, "ill": ["no", "yes"] * 20}
    for otherwise in (None, mechanism("else")):
        folder = tmp_path / f"{otherwise is None}"
        folder.mkdir()
        source, sm = stored(data, "sqlite", folder), stratified(otherwise=otherwise)
        opened = open_source(source, target(source, folder), overwrite=False, progress=None, order="keep")
        opened.check(("ill",), sm.input_alphabet, given=sm.given_columns)
        with contextlib.closing(sqlite3.connect(source.path)) as connection:
            connection.execute("UPDATE people SET sex = 'm', age = 70 WHERE rowid = 7")
            connection.commit()
        if otherwise is None:
            with pytest.raises(InvalidInput, match=r"1 of 40 rows are in strata by 'sex' and 'age' that were not"):
                opened.release([sm], None)
            assert not (folder / "released.sqlite").exists()
        else:
            assert columns(opened.release([sm], None))["ill"][6].startswith("else")


def test_a_name_that_only_later_objects_of_json_have_does_not_go_out_unseen(tmp_path: Path) -> None:
    source = stored({"sex": ["f", "m"], "age": [20.5, 30.5], "ill": ["no", "yes"]}, ".jsonl", tmp_path)
    with source.open("a") as file:
        file.write(json.dumps({"sex": "f", "age": 21.5, "ill": "yes", "truth": "yes"}) + "\n")
    with pytest.raises(InvalidInput, match="has 'truth', which the first object does not have"):
        released(source, stratified(), tmp_path)
    with pytest.raises(InvalidInput, match="has 'truth', which the first object does not have"):
        released(source, mechanism("a"), tmp_path, drop=["sex"])
    assert not (tmp_path / "released.jsonl").exists()


def test_files_carry_the_new_version_only_where_they_hold_strata(tmp_path: Path) -> None:
    source = stored(rows(50), ".parquet", tmp_path)
    for sm, version in ((stratified(), 2), (mechanism("a"), 1)):
        folder = tmp_path / str(version)
        folder.mkdir()
        note = pq.read_schema(released(source, sm, folder)).metadata[b"leakwise.release"]
        assert json.loads(note)["version"] == version
        assert (b"stratified" in note) == (version == 2)
    newer = note.replace(b'"version":1', b'"version":9').replace(b'"mechanism"', b'"something new"')
    table = pq.read_table(tmp_path / "1" / "released.parquet").replace_schema_metadata({b"leakwise.release": newer})
    with pytest.raises(InvalidInput, match="released by a newer Leakwise"):
        lw.estimate(table)


def test_a_file_that_changes_between_the_passes_is_refused(tmp_path: Path) -> None:
    source, sm = stored(rows(50), ".csv", tmp_path), stratified()
    opened = open_source(source, tmp_path / "out.csv", overwrite=False, progress=None, order="keep")
    opened.check(("ill",), sm.input_alphabet, given=sm.given_columns)
    source.write_bytes(source.read_bytes().replace(b",f,", b",m,", 1))
    os.utime(source, ns=(1, 1))
    with pytest.raises(InvalidInput, match="was changed while it was released"):
        opened.release([sm], None)
    assert not (tmp_path / "out.csv").exists()


def test_a_value_that_cannot_occur_in_its_stratum_is_refused_also_in_the_second_pass(tmp_path: Path) -> None:
    data = {"sex": ["f"] * 10, "age": [20.5] * 10, "ill": ["no"] * 10}
    sm = stratified(impossible={("f", AGES.labels[0]): ["yes"]})
    source = open_source(data, None, overwrite=False, progress=None, order="keep")
    source.check(("ill",), sm.input_alphabet, given=sm.given_columns)
    source.release([sm], None)
    data["ill"][3] = "yes"
    source = open_source(data, None, overwrite=False, progress=None, order="keep")
    source.check(("ill",), sm.input_alphabet, given=sm.given_columns)
    with pytest.raises(InvalidInput, match=r"1 rows have values that cannot occur in their stratum.*'yes'"):
        source.release([sm], None)


def test_a_column_cannot_be_two_things() -> None:
    sm, data = stratified(), rows(10)
    source = open_source(data, None, overwrite=False, progress=None, order="keep", drop=["sex"])
    source.check(("ill",), sm.input_alphabet, given=sm.given_columns)
    with pytest.raises(InvalidInput, match="A column that is dropped must be neither the secret, nor given"):
        source.release([sm], None)
    with pytest.raises(InvalidInput, match="must not be a given column: 'sex' is both"):
        lw.release(data, {"ill": sm, "sex": lw.randomized_response(["f", "m"], lift=2)})
    source = open_source(data, None, overwrite=False, progress=None, order="keep", coarsen={"age": lw.bins(0, 100, 4)})
    with pytest.raises(InvalidInput, match="goes out in other bins than the mechanism was made for"):
        source.check(("ill",), sm.input_alphabet, given=sm.given_columns)


@pytest.mark.parametrize("kind", ["pandas", ".csv", ".parquet", "sqlite"])
def test_an_order_by_a_given_column_passes_and_one_by_the_secret_is_warned_of(kind: str, tmp_path: Path) -> None:
    frame = pd.DataFrame(rows(2000)).drop(columns=["name", "zip"])
    frame["ill"] = np.where(frame["age"] < 50, "no", frame["ill"])  # age tells a lot, and goes out
    for by, told in ((["age"], False), (["ill"], True)):
        ordered = frame.sort_values(by, kind="stable").to_dict("list")
        folder = tmp_path / by[0]
        folder.mkdir()
        source = stored(ordered, kind, folder)  # type: ignore[arg-type]
        with pytest.warns(RowOrderWarning, match="within") if told else contextlib.nullcontext():
            lw.release(source, stratified(), out=target(source, folder))


def test_a_stream_of_batches_is_released_by_strata() -> None:
    data = {name: values for name, values in rows(900).items() if name in ("sex", "age", "ill")}
    reader = pa.table(data).to_reader(max_chunksize=100)
    out = lw.release(reader, stratified()).read_all()
    wanted = [expected(sex, age) for sex, age in zip(data["sex"], data["age"], strict=True)]
    assert [outcome[:-1] for outcome in out["ill"].to_pylist()] == wanted
    assert lw.estimate(out).sample_size == 900
    frame = pd.DataFrame(data).sort_values("ill")
    with pytest.warns(RowOrderWarning, match="within"):
        lw.release(
            pa.Table.from_pandas(frame, preserve_index=False).to_reader(max_chunksize=100), stratified()
        ).read_all()


def test_every_kind_of_file_is_tried() -> None:
    names = {".pq", ".ipc", ".ndjson"}  # other names for kinds that are
    assert set(SUFFIXES) - set(FILES) == {*names, ".dta", ".sav", ".zsav"}  # the last ones are tried by themselves


def test_values_of_another_type_are_warned_of_and_not_taken_for_other_strata(tmp_path: Path) -> None:
    """A file of texts names strata by texts; a release of numbers knows none of them."""
    own = {"1": mechanism("a"), "2": mechanism("b")}
    sm = lw.StratifiedMechanism(own, {"u": ["1", "2"]}, secret="ill", otherwise=mechanism("a"))
    path = stored({"u": ["1", "2"] * 200, "ill": ["no", "yes", "yes", "no"] * 100}, ".csv", tmp_path)
    out = lw.release(path, sm, out=tmp_path / "out.csv", order="keep")
    lw.estimate(out, sm)
    lw.estimate(pd.read_csv(out), sm)  # an estimate finds numbers again that were texts
    with pytest.warns(LeakwiseWarning, match=r"No row has a value of 'u' that the mechanism knows \('u': '1', '2'\)"):
        lw.release({"u": [1, 2], "ill": ["no", "yes"]}, sm)


FIELDS = ["", "a", "b,c", 'say "x"', "two\nlines", " ", "ü", "0"]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_fields_of_any_form_are_cut_out_of_a_csv_and_the_others_keep_their_bytes(
    ending: str, start: str, delimiter: str, tmp_path: Path
) -> None:
    generator = np.random.default_rng(1)
    names = ["p", "q", "ill", "r", "s"]
    rows = [[str(generator.choice(FIELDS)) for _ in names] for _ in range(12)]
    for row in rows:
        row[2] = str(generator.choice(DOMAIN))
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=ending)
    writer.writerows([names, *rows])
    source = tmp_path / "t.csv"
    source.write_bytes((start + text.getvalue()).encode())
    others = [name for name in names if name != "ill"]
    for number in range(len(others) + 1):
        for drop in itertools.combinations(others, number):
            for order in ("keep", "shuffle"):
                folder = tmp_path / f"{'-'.join(drop)} {order}"
                folder.mkdir()
                out = released(source, mechanism("a"), folder, drop=drop, order=order)
                with out.open(newline="", encoding="utf-8") as file:
                    content = file.read()
                assert content.startswith(start)
                header, *found = csv.reader(io.StringIO(content.removeprefix(start), newline=""), delimiter=delimiter)
                kept = [name for name in names if name not in drop]
                assert header == kept
                places = [names.index(name) for name in kept if name != "ill"]
                wanted = [[row[place] for place in places] for row in rows]
                seen = [[field for name, field in zip(kept, row, strict=True) if name != "ill"] for row in found]
                assert (seen if order == "keep" else sorted(seen)) == (wanted if order == "keep" else sorted(wanted))
                assert content.count(ending) == text.getvalue().count(ending) or drop or order == "shuffle"
