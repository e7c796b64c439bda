"""``lw.advise`` and ``leakwise advise``: settings to choose from, as commands that run."""

from __future__ import annotations

import datetime
import json
import math
import random
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app
from leakwise.workflow.advice import round_bins


@pytest.fixture(scope="module")
def clinic() -> pd.DataFrame:
    generator = np.random.default_rng(8)
    rows = 6000
    sex, age = generator.choice(["f", "m"], rows), generator.integers(18, 90, rows)
    ill = np.where(generator.random(rows) < 0.1 + 0.3 * (age > 60), "flu, severe", "none")
    ward = generator.choice([f"ward {place}" for place in range(12)], rows)
    return pd.DataFrame(
        {
            "number": range(rows),
            "ill": ill,
            "sex": sex,
            "age": age,
            "ward": ward,
            "name": [f"n{i}" for i in range(rows)],
        }
    )


@pytest.fixture(scope="module")
def advised(clinic: pd.DataFrame) -> lw.results.Advised:
    return lw.advise(clinic, "ill")


@pytest.mark.filterwarnings("ignore::leakwise.errors.LeakwiseWarning")
def test_each_setting_says_what_a_dry_run_of_it_says(clinic, advised):
    assert 3 <= len(advised.settings) <= 5
    for one in advised.settings:
        again = eval(advised.command(one), {"lw": lw, "table": clinic})  # what it prints is what it did
        assert again.guarantee == one.tried.guarantee
        assert again.dry_run.standard_errors == pytest.approx(one.tried.dry_run.standard_errors, rel=0.01)


def test_names_numbers_of_persons_and_many_values_do_not_go_out_as_they_are(advised):
    first = advised.settings[0].columns
    assert set(first.drop) == {"number", "name"}
    assert set(first.coarsen) == {"age"}
    assert first.given == ("sex", "age", "ward")
    assert "number and name: too many values to go out, so dropped." in advised.assumed
    assert advised.assumed[0].startswith("No other values of ill can occur than the 2 that do, and the release shows")


def test_settings_with_fewer_columns_are_more_accurate_and_a_stricter_one_less(advised):
    by_title = {one.title: one for one in advised.settings}
    statistics = [one for one in advised.settings if one.use == "statistics" and one.title != "stricter"]
    margins = [one.margin for one in statistics]
    assert len(margins) >= 2
    assert margins == sorted(margins, reverse=True)
    assert by_title["stricter"].lift < 2
    assert by_title["stricter"].margin > margins[-1]
    assert by_title["for reading"].use == "reading"


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_commands_run_as_they_are_printed_and_nothing_else_is_written(clinic, tmp_path, suffix, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = Path(f"the clinic{suffix}")
    (clinic.to_csv(place, index=False) if suffix == ".csv" else clinic.to_parquet(place))
    done = CliRunner().invoke(app, ["advise", str(place), "-c", "ill", "--json"])
    assert done.exit_code == 0, done.output
    assert [one.name for one in tmp_path.iterdir()] == [place.name]
    told = json.loads(done.stdout)
    assert told["for"].startswith("For the steward only")
    for one in told["settings"][-2:]:
        words = shlex.split(one["command"])
        assert words[:2] == ["leakwise", "release"]
        dry = CliRunner().invoke(app, [*words[1:], "--json"])
        assert dry.exit_code == 0, dry.output
        assert json.loads(dry.stdout)["promise"]["sentence"] == one["guarantee"]
        assert [file.name for file in tmp_path.iterdir()] == [place.name]
    made = CliRunner().invoke(app, [word for word in words[1:] if word != "--dry-run"])
    assert made.exit_code == 0, made.output
    assert Path(f"the clinic.released{suffix}").is_file()


ODD = {
    "spaces, quotes, bins": [" a ", 'b"', "bins:1", "-c", "@d"],
    "empty and missing": ["a", "", None],
    "truth": [True, False],
    "fractions, some missing": [0.0, 1.5, None],
    "days": [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 2)],
    "numbers, some missing": [*np.linspace(-3, 4, 50).round(3).tolist(), None],
}


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
@pytest.mark.parametrize("values", ODD.values(), ids=list(ODD))
def test_the_commands_run_whatever_the_values_are(tmp_path, monkeypatch, suffix, values):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({" the secret ": (values * 400)[:400], " ä, =": ["x ", "x ", " y", " y"] * 100})
    place = Path(f"t{suffix}")
    if suffix == ".jsonl":
        table.to_json(place, orient="records", lines=True, date_format="iso")
    else:
        (table.to_csv(place, index=False) if suffix == ".csv" else table.to_parquet(place))
    done = CliRunner().invoke(app, ["advise", str(place), "-c", " the secret ", "--json"])
    assert done.exit_code == 0, done.output
    words = shlex.split(json.loads(done.stdout)["settings"][0]["command"])[1:]
    assert "--given" in words
    made = CliRunner().invoke(app, [word for word in words if word != "--dry-run"])
    assert made.exit_code == 0, made.output


def test_a_column_with_infinite_numbers_is_not_put_into_bins_and_a_table_without_rows_is_told():
    table = {"ill": ["no", "yes"] * 200, "score": [math.inf, *range(399)]}
    found = lw.advise(table, "ill")
    assert found.settings[0].columns.drop == ("score",)
    with pytest.raises(lw.InvalidInput, match="cannot be listed: there are none, or more than"):
        lw.advise({"ill": [], "sex": []}, "ill")


def test_many_numbers_with_missing_ones_have_a_place_for_them():
    found = lw.advise({"score": [*np.linspace(0, 10, 399), math.nan]}, "score")
    assert "domain=lw.bins(0, 10, 5).with_missing()" in found.command(found.settings[0])


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize(
    ("days", "domain"),
    [
        (1461, "bins:2012-01-01,2015-12-31,year"),
        (600, "bins:2012-01-01,2013-09-30,quarter"),
        (200, "bins:2012-01-01,2012-07-31,month"),
    ],
)
def test_many_dates_are_put_into_bins_and_the_command_runs(days, domain, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dates = pd.Series([*pd.date_range("2012-01-01", periods=days), pd.NaT])
    if text:
        dates.dt.strftime("%Y-%m-%d").to_frame("date").to_csv("t.csv", index=False)
    else:
        dates.to_frame("date").to_parquet("t.parquet")
    found = lw.advise("t.csv" if text else "t.parquet", "date", time_limit=1)
    command = shlex.split(found.command(found.settings[0]))
    assert command[command.index("--domain") + 1] == f"{domain},"
    done = CliRunner().invoke(app, command[1:])
    assert done.exit_code == 0, done.output


def test_edges_of_bins_are_round_and_contain_every_number():
    table = {"ill": ["no", "yes"] * 100, "place": np.linspace(33.72, 34.29, 200)}
    assert "bins:33.7,34.3,5" in str(lw.advise(table, "ill").settings[0].columns.coarsen["place"].typed)
    above = np.append(np.linspace(33.72, 34.2, 199), 34.300000000000004)
    assert round_bins(above).edges[-1] == 34.300000000000004


def test_a_column_without_a_name_is_seen_in_sentences():
    table = {"": list(range(40)) * 5, "ill": random.Random(1).choices(["no", "yes"], k=200)}
    assert "'': numbers, put into bins." in lw.advise(table, "ill").assumed
    r = lw.protect(table, "ill", prior={"no": 0.5, "yes": 0.5}, lift=2, unrelated=[""], order="shuffle")
    assert "if '' tells nothing about ill" in str(r.guarantee)


def test_many_numbers_are_put_into_bins_and_many_texts_refused(clinic):
    found = lw.advise(clinic[["age", "sex"]], "age")
    assert found.command(found.settings[0]).startswith("lw.protect(table, 'age', domain=lw.bins(10, 90, 5)")
    with pytest.raises(lw.InvalidInput, match="has 6,000 values, more than 200"):
        lw.advise(clinic[["name", "sex"]], "name")


def test_what_is_named_is_taken(clinic):
    found = lw.advise(clinic[["ill", "sex"]], "ill", domain=["none", "flu, severe", "HIV"], lift="1.2", drop=["sex"])
    one = found.settings[0]
    assert one.title == "no other columns"
    assert one.tried.mechanism.inputs == ("none", "flu, severe", "HIV")
    assert "lift='1.2'," in found.command(one)
    with pytest.raises(lw.InvalidInput, match="names 'sxe'"):
        lw.advise(clinic, "ill", drop=["sxe"])
    with pytest.raises(lw.InvalidInput, match="one secret column"):
        lw.advise(clinic, ("ill", "sex"))


def test_a_second_secret_is_refused_instead_of_given_to_everybody(clinic, tmp_path):
    """The last of two columns once was the secret, and the commands released the other one as it is."""
    clinic[["ill", "sex"]].to_csv(tmp_path / "t.csv", index=False)
    told = CliRunner().invoke(app, ["advise", str(tmp_path / "t.csv"), "-c", "ill", "-c", "sex"])
    assert told.exit_code == 2
    assert "leakwise release" not in told.stdout
    assert "must name one secret column. Got ('ill', 'sex') instead." in told.stderr
    assert "--protect SECRET=LIFT --dry-run" in told.stderr


def test_it_prints_a_table_the_commands_and_what_it_assumed(advised):
    said = repr(advised)
    assert said.startswith("Ways to release ill")
    assert all(advised.command(one) in said for one in advised.settings)
    assert "Nothing was drawn, written or spent." in said
    assert max(len(line) for line in said.splitlines()[:8]) <= 80


def test_a_column_that_says_the_secret_is_dropped_and_told():
    generator = np.random.default_rng(3)
    party = generator.choice(["a", "b"], 3000)
    vote = np.where(generator.random(3000) < 0.96, party, "a")
    frame = pd.DataFrame({"vote": vote, "news": generator.integers(0, 3, 3000), "party": party})
    found = lw.advise(frame, "vote")
    assert "party tells too much about vote, and is dropped." in found.assumed
    assert all("party" in one.columns.drop for one in found.settings)
    assert found.settings[0].columns.given == ("news",)


def test_a_small_table_is_told_that_nothing_can_be_learned_from_it(clinic):
    found = lw.advise(clinic[["ill", "sex"]].head(500), "ill")
    assert any(one.startswith("Nothing can be learned from 500 rows") for one in found.assumed)


def test_columns_that_say_the_secret_only_together_are_found_in_later_settings_and_told():
    """Of many columns not every pair is looked at; the choices with fewer columns look at this one."""
    generator = np.random.default_rng(1)
    frame = pd.DataFrame({f"c{place}": generator.integers(0, 6, 20_000) for place in range(8)})
    x, y = generator.integers(0, 2, (2, 20_000))
    found = lw.advise(frame.assign(x=x, y=y, ill=np.where(x ^ y, "yes", "no")), "ill")
    dropped = [one for one in found.assumed if one.endswith("tells too much about ill, and is dropped.")]
    assert len(dropped) == 1
    assert all({"x", "y"} & set(one.columns.drop) for one in found.settings)
