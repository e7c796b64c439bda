"""Stata and SPSS files: codes, labels and several missing values go in and come out; nothing else does."""

from __future__ import annotations

import datetime
import random
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pyreadstat
import pytest

import leakwise as lw
from leakwise.errors import InvalidInput
from leakwise.tables.formats import open_table

ROWS = 600
NAMES = ["no", "yes", "refused", "do not know"]
READ = {"dta": pyreadstat.read_dta, "sav": pyreadstat.read_sav, "zsav": pyreadstat.read_sav}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Stata file and an SPSS file of one survey."""
    place = tmp_path_factory.mktemp("survey")
    chance = random.Random(4)
    codes = [chance.choice([1, 2, 2, "a", "b", None]) for _ in range(ROWS)]
    spss = {"a": 8.0, "b": 98.0}
    common: dict[str, Any] = {
        "weight": [chance.choice([0.1, 1.5, None]) for _ in range(ROWS)],
        "town": [chance.choice(["Oslo", "", "Ås"]) for _ in range(ROWS)],
        "day": [datetime.date(1950, 1, 1) + datetime.timedelta(days=37 * row) for row in range(ROWS)],
        "hour": [datetime.datetime(2020, 1, 1, row % 24, 3, 4) for row in range(ROWS)],
    }
    sexes = [chance.choice([1, 2, "z"]) for _ in range(ROWS)]
    pyreadstat.write_dta(
        pl.DataFrame({"smokes": pl.Series(codes, dtype=pl.Object), "sex": pl.Series(sexes, dtype=pl.Object), **common}),
        str(place / "survey.dta"),
        file_label="HIDDEN yes=1503",
        column_labels={"smokes": "Do you smoke?"},
        missing_user_values={"smokes": ["a", "b"], "sex": ["z"]},
        variable_value_labels={
            "smokes": {1: "no", 2: "yes", 7: "UNUSED", "a": "refused", "b": "do not know"},
            "sex": {1: "male", 2: "female"},
        },
        variable_format={"weight": "%9.3f"},
    )
    pyreadstat.write_sav(
        pl.DataFrame(
            {
                "smokes": [spss.get(str(one), one) if one is not None else None for one in codes],
                "sex": [3.0 if one == "z" else float(one) for one in sexes],
                **common,
            },
            schema_overrides={"smokes": pl.Float64},
            strict=False,
        ),
        str(place / "survey.sav"),
        file_label="HIDDEN yes=1503",
        note=["HIDDEN yes=1503"],
        column_labels={"smokes": "Do you smoke?"},
        variable_value_labels={
            "smokes": {1.0: "no", 2.0: "yes", 7.0: "UNUSED", 8.0: "refused", 98.0: "do not know"},
            "sex": {1.0: "male", 2.0: "female"},
            "town": {"Oslo": "the capital"},
        },
        missing_ranges={"smokes": [8.0, {"lo": 90.0, "hi": 99.0}], "town": ["Ås"]},
        variable_measure={"smokes": "nominal", "sex": "nominal"},
        variable_format={"weight": "F9.3"},
    )
    return place


def contents(path: Path) -> tuple[dict[str, list[Any]], Any]:
    found: tuple[dict[str, list[Any]], Any] = READ[path.suffix[1:]](
        str(path), user_missing=True, output_format="dict", disable_datetime_conversion=True
    )
    return found


@pytest.mark.parametrize("ending", ["dta", "sav"])
def test_a_release_keeps_every_other_column_and_what_is_said_of_it(folder: Path, tmp_path: Path, ending: str) -> None:
    source = folder / f"survey.{ending}"
    out = lw.release(source, lw.randomized_response([*NAMES, None], lift=3), "smokes", out=tmp_path / source.name)
    (before, told), (after, kept) = contents(source), contents(Path(out))
    assert list(after) == list(before)
    assert {name for name in before if before[name] != after[name]} == {"smokes"}
    for what in ("column_names_to_labels", "variable_measure"):
        assert getattr(kept, what) == getattr(told, what)
    others = [name for name in before if name != "smokes"]
    for what in ("variable_value_labels", "missing_ranges", "original_variable_types"):
        assert [getattr(kept, what).get(one) for one in others] == [getattr(told, what).get(one) for one in others]


def test_outcomes_of_stata_are_codes_with_their_labels_and_extended_missing_values(
    folder: Path, tmp_path: Path
) -> None:
    out = lw.release(
        folder / "survey.dta", lw.randomized_response([*NAMES, None], lift=3), "smokes", out=tmp_path / "r.dta"
    )
    rows, told = contents(Path(out))
    assert set(rows["smokes"]) == {1, 2, "a", "b", None}
    # Labels of values that cannot be an outcome stay behind.
    assert told.variable_value_labels["smokes"] == {1: "no", 2: "yes", "a": "refused", "b": "do not know"}


def test_outcomes_of_spss_are_codes_with_their_labels_and_declared_missing_values(folder: Path, tmp_path: Path) -> None:
    mechanism = lw.randomized_response([1, 2, 8, 98, None], lift=3)
    out = lw.release(folder / "survey.sav", mechanism, "smokes", out=tmp_path / "r.sav")
    rows, told = contents(Path(out))
    assert set(rows["smokes"]) == {1.0, 2.0, 8.0, 98.0, None}
    assert told.variable_value_labels["smokes"] == {1: "no", 2: "yes", 8: "refused", 98: "do not know"}
    missing = sorted(told.missing_ranges["smokes"], key=lambda one: one["lo"])
    assert missing == [{"lo": 8, "hi": 8}, {"lo": 90, "hi": 99}]


@pytest.mark.parametrize("ending", ["dta", "sav"])
def test_the_domain_is_named_by_labels_or_by_codes(folder: Path, tmp_path: Path, ending: str) -> None:
    codes = [1, 2, ".a", ".b", None] if ending == "dta" else [1, 2, 8, 98, None]
    found = []
    for turn, domain in enumerate(([*NAMES, None], codes, ["1", "yes", *codes[2:]])):
        mechanism = lw.randomized_response(domain, lift=3)
        out = tmp_path / f"{turn}.{ending}"
        lw.release(folder / f"survey.{ending}", mechanism, "smokes", out=out)
        # Nothing is exchanged by a mechanism that tells all: the counts are those of the file.
        found.append(lw.estimate(folder / f"survey.{ending}", lw.identity(domain), "smokes").frequencies.tolist())
        assert lw.estimate(out, mechanism, "smokes").frequencies.sum() == pytest.approx(1)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("ending", ["dta", "sav", "zsav"])
def test_the_label_of_the_file_and_its_notes_stay_behind(folder: Path, tmp_path: Path, ending: str) -> None:
    source = folder / f"survey.{ending.removeprefix('z')}"
    out = tmp_path / f"r.{ending}"
    lw.release(source, lw.randomized_response([*NAMES, None], lift=3), "smokes", out=out)
    assert b"HIDDEN" in source.read_bytes()
    assert b"HIDDEN" not in out.read_bytes()
    assert b"UNUSED" not in out.read_bytes()
    told = contents(out)[1]
    assert told.file_label is None
    assert told.notes == []


@pytest.mark.parametrize("ending", ["dta", "sav"])
def test_outcomes_that_are_no_values_of_the_file_are_new_codes_with_labels(
    folder: Path, tmp_path: Path, ending: str
) -> None:
    inputs = [*NAMES, None]
    mechanism = lw.Mechanism([[0.5, 0.25, 0.25]] * 5, inputs=inputs, outputs=["not refused", "yes", "{no,yes}"])
    out = tmp_path / f"r.{ending}"
    lw.release(folder / f"survey.{ending}", mechanism, "smokes", out=out)
    rows, told = contents(out)
    # 1 and 7 are codes of the file, 8 and 90 to 99 are declared missing in SPSS.
    assert told.variable_value_labels["smokes"] == {2: "yes", 3: "not refused", 4: "{no,yes}"}
    assert set(rows["smokes"]) == {2, 3, 4}
    seen = lw.estimate(out, lw.identity(mechanism.outputs), "smokes").frequencies
    assert seen.tolist() == pytest.approx([rows["smokes"].count(code) / ROWS for code in (3, 2, 4)])


@pytest.mark.parametrize("ending", ["dta", "sav"])
def test_other_kinds_of_files_get_codes_dates_and_the_outcomes_as_they_are_named(
    folder: Path, tmp_path: Path, ending: str
) -> None:
    mechanism = lw.randomized_response([*NAMES, None], lift=3)
    lw.release(folder / f"survey.{ending}", mechanism, "smokes", out=tmp_path / "r.parquet")
    table = pq.read_table(tmp_path / "r.parquet")
    assert set(table.column("smokes").to_pylist()) == {*NAMES, None}
    assert set(table.column("sex").to_pylist()) == ({"1", "2", ".z"} if ending == "dta" else {1.0, 2.0, 3.0})
    assert table.column("day").to_pylist()[:2] == [datetime.date(1950, 1, 1), datetime.date(1950, 2, 7)]
    assert table.column("hour").to_pylist()[5] == datetime.datetime(2020, 1, 1, 5, 3, 4)
    # The mechanism is in the file.
    assert lw.estimate(tmp_path / "r.parquet").frequencies.size == 5


def test_the_type_of_a_released_column_does_not_tell_whether_extended_missing_values_occurred(tmp_path: Path) -> None:
    types = []
    for turn, values in enumerate(([1, 2, "a"], [1, 2, 1])):
        frame = pl.DataFrame({"x": pl.Series(values * 50, dtype=pl.Object)})
        source = tmp_path / f"{turn}.dta"
        pyreadstat.write_dta(frame, str(source), missing_user_values={"x": ["a"]})
        mechanism = lw.Mechanism([[0.5, 0.5]] * 3, inputs=[1, 2, ".a"], outputs=[1, 2])
        for kind in ("parquet", "dta"):
            lw.release(source, mechanism, "x", out=tmp_path / f"out{turn}.{kind}", order="keep")
        told = contents(tmp_path / f"out{turn}.dta")[1]
        types.append((pq.read_schema(tmp_path / f"out{turn}.parquet").field("x").type, told.readstat_variable_types))
    assert types[0] == types[1]


def test_a_csv_file_is_released_into_stata_and_spss(tmp_path: Path) -> None:
    source = tmp_path / "s.csv"
    source.write_text("id,smokes,day\n" + "".join(f"{n},{'no' if n % 3 else 'yes'},2020-01-02\n" for n in range(90)))
    mechanism = lw.randomized_response(["no", "yes"], lift=3)
    for kind in ("dta", "sav"):
        lw.release(source, mechanism, "smokes", out=tmp_path / f"r.{kind}", order="keep")
        rows, _ = contents(tmp_path / f"r.{kind}")
        assert rows["id"] == list(range(90))
        assert set(rows["smokes"]) == {"no", "yes"}
        table = open_table(tmp_path / f"r.{kind}")
        assert table.distinct(next(iter(table.batches(["day"])))["day"])[0] == [datetime.date(2020, 1, 2)]


def test_a_column_that_stata_cannot_name_is_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    source = tmp_path / "s.csv"
    source.write_text("id,how old,smokes\n" + "".join(f"{n},{n},{'no' if n % 3 else 'yes'}\n" for n in range(90)))
    with pytest.raises(InvalidInput, match="how old"):
        lw.release(source, lw.randomized_response(["no", "yes"], lift=3), "smokes", out=tmp_path / "r.dta")
    assert not (tmp_path / "r.dta").exists()


def test_given_columns_and_bins_of_a_survey_file(folder: Path, tmp_path: Path) -> None:
    with pytest.warns(lw.LeakwiseWarning, match="too rare"):
        done = lw.protect(
            folder / "survey.dta", "smokes", domain=[*NAMES, None], lift=4, prior="table", failure=1e-3, given=["sex"],
            drop=["town", "day", "hour"], coarsen={"weight": lw.bins(0, 2, 2)}, unrelated=["weight"],
            out=tmp_path / "r.dta",
        )  # fmt: skip
    assert [set(one.labels) for one in done.mechanism.given_columns.domains] == [{"1", "2", ".z"}]
    rows, told = contents(tmp_path / "r.dta")
    assert list(rows) == ["smokes", "sex", "weight"]
    assert told.variable_value_labels["weight"] == {1: "[0, 1)", 2: "[1, 2]"}
    assert set(rows["weight"]) == {1, 2, None}
    assert lw.estimate(tmp_path / "r.dta", done.mechanism).frequencies.sum() == pytest.approx(1)


@pytest.mark.parametrize("ending", ["dta", "sav"])
def test_shuffled_rows_stay_whole(folder: Path, tmp_path: Path, ending: str) -> None:
    source, out = folder / f"survey.{ending}", tmp_path / f"r.{ending}"
    lw.release(source, lw.randomized_response([*NAMES, None], lift=3), "smokes", out=out, order="shuffle")
    before, after = contents(source)[0], contents(out)[0]
    others = [name for name in before if name != "smokes"]
    rows = [list(zip(*(one[name] for name in others), strict=True)) for one in (before, after)]
    assert rows[0] != rows[1]
    assert sorted(map(repr, rows[0])) == sorted(map(repr, rows[1]))


def test_a_damaged_file_is_an_error_that_names_it(folder: Path, tmp_path: Path) -> None:
    for ending in ("dta", "sav"):
        whole = (folder / f"survey.{ending}").read_bytes()
        path = tmp_path / f"cut.{ending}"
        for size in (0, 3, 200, len(whole) // 2, len(whole) * 9 // 10):
            path.write_bytes(whole[:size])
            with pytest.raises(InvalidInput, match=r"cut\."):
                lw.release(path, lw.randomized_response([*NAMES, None], lift=3), "smokes", out=tmp_path / f"r.{ending}")
        assert not (tmp_path / f"r.{ending}").exists()


@pytest.mark.parametrize("ending", ["dta", "sav"])
def test_everything_that_reads_a_table_reads_a_survey(folder: Path, tmp_path: Path, ending: str) -> None:
    source, out = folder / f"survey.{ending}", tmp_path / f"r.{ending}"
    names = [*NAMES, None]
    mechanism = lw.Mechanism([[0.9, 0.1], *[[0.1, 0.9]] * 4], names, ["{no}", "not no"])
    lw.release(source, mechanism, "smokes", out=out)
    assert len(lw.estimate(out, mechanism, "smokes", by="sex")) == 3
    assert len(lw.estimate(out, {"smokes": mechanism}, by=["sex", "town"])) == 9
    two = lw.Mechanism([[0.9, 0.1], [0.1, 0.9]], ["no", "other"], ["{no}", "not no"])
    found = lw.regress("smokes ~ C(sex)", out, {"smokes": two})
    assert len(found.coefficients) == 3
    assert "sex" in repr(lw.audit_table(source, "smokes", domain=names, given=["sex"]))
