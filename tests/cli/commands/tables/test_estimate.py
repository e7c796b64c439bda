"""``leakwise estimate`` and ``leakwise regress``: joint tables, groups, surveys, databases, pictures, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app

RUN = CliRunner()
SEX, INCOME = lw.randomized_response(["f", "m"], lift=4), lw.randomized_response(["low", "high"], lift=4)


def run(*words: str) -> tuple[int, str, str]:
    done = RUN.invoke(app, list(words), catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    g = np.random.default_rng(1)
    table = pd.DataFrame({"sex": g.choice(["f", "m"], 4000), "region": g.choice(["n", "s"], 4000)})
    table["age"] = g.integers(20, 60, 4000)
    table["income"] = np.where(g.random(4000) < np.where(table.sex == "m", 0.7, 0.3), "high", "low")
    table["w"], table["village"] = 1.0 + table.age % 3, g.integers(0, 40, 4000)
    table.to_parquet("plain.parquet")
    lw.release("plain.parquet", {"sex": SEX, "income": INCOME}, out="out.parquet")
    pd.read_parquet("out.parquet").to_csv("out.csv", index=False)
    SEX.save("sex.json")
    INCOME.save("income.json")
    return tmp_path


def test_the_joint_table_by_region_from_what_the_file_says(folder: Path) -> None:
    code, said, _ = run("estimate", "out.parquet", "--joint", "sex,income", "--by", "region", "--json")
    assert code == 0
    told = json.loads(said)
    assert [group["group"] for group in told["groups"]] == ["n", "s"]
    assert np.shape(told["groups"][0]["frequencies"]) == (2, 2)
    for words in (["--joint", "sex,income", "--by", "region"], ["-c", "income", "--by", "region"]):
        _, said, _ = run("estimate", "out.parquet", *words)
        assert max(map(len, said.splitlines())) <= 80
    _, said, _ = run("regress", "income ~ age + C(sex)", "out.parquet")
    assert max(map(len, said.splitlines())) <= 80
    code, said, _ = run("estimate", "out.parquet", "--joint", "sex,income", "--weights", "w", "--clusters", "village")
    assert code == 0
    assert "Shares of sex × income" in said


def test_mechanisms_by_name_give_the_same_for_a_csv_and_draw_a_picture(folder: Path) -> None:
    words = ["estimate", "out.csv", "--joint", "sex,income", "-m", "sex=sex.json", "-m", "income=income.json", "--json"]
    code, said, noted = run(*words, "--plot", "table.svg")
    assert code == 0
    assert "Picture saved" in noted
    assert Path("table.svg").stat().st_size > 1000
    _, other, _ = run("estimate", "out.parquet", "--joint", "sex,income", "--json")
    assert json.loads(said)["frequencies"] == json.loads(other)["frequencies"]


def test_regress_prints_the_coefficients_beside_the_naive_ones(folder: Path) -> None:
    code, said, _ = run("regress", "income ~ age + C(sex)", "out.parquet", "--plot", "f.json")
    assert code == 0
    assert "C(sex)[T.m]" in said
    assert "naive" in said
    assert "released values taken for true" in Path("f.json").read_text(encoding="utf-8")
    words = ["regress", "income ~ age + C(sex)", "out.csv", "-m", "sex=sex.json", "-m", "income=income.json", "--json"]
    code, told, _ = run(*words)
    assert code == 0
    found = json.loads(told)
    assert found["family"] == "logistic"
    assert abs(found["coefficients"]["C(sex)[T.m]"] - 1.69) < 5 * found["standard_errors"]["C(sex)[T.m]"]


def test_the_mechanism_next_to_a_csv_is_found_with_its_column(folder: Path) -> None:
    g = np.random.default_rng(2)
    people = pd.DataFrame({"smokes": g.choice(["no", "yes"], 3000, p=[0.7, 0.3]), "age": g.integers(20, 60, 3000)})
    people.to_csv("people.csv", index=False)
    release = ["release", "people.csv", "-c", "smokes", "--domain", "no,yes", "--lift", "1.8", "--unrelated", "age"]
    assert run(*release, "--prior", "no=0.7,yes=0.3", "--out", "given.csv")[0] == 0
    assert Path("given.mechanism.json").exists()
    code, said, _ = run("estimate", "given.csv", "--json")
    assert code == 0
    assert json.loads(said)["labels"] == ["no", "yes"]
    assert abs(json.loads(said)["frequencies"][1] - 0.3) < 0.15
    found = lw.regress("smokes ~ age", "given.csv")
    assert found.family == "logistic"
    # One row more, and it is not the table that the mechanism belongs to.
    changed = pd.read_csv("given.csv")
    changed.iloc[1:].to_csv("given.csv", index=False)
    code, _, said = run("estimate", "given.csv", "-c", "smokes")
    assert code == 2
    assert "belongs to another released table" in said
    code, _, said = run("estimate", "given.csv")
    assert code == 2
    assert "column must say which column" in said


def test_a_table_of_a_database_is_estimated_from(folder: Path) -> None:
    import sqlite3

    with sqlite3.connect("shop.sqlite") as link:
        pd.read_csv("out.csv").to_sql("people", link, index=False)
    code, said, _ = run("estimate", "people", "--from-sql", "shop.sqlite", "-m", "sex.json", "-c", "sex", "--json")
    assert code == 0
    assert json.loads(said)["sample_size"] == 4000
    words = ["--from-sql", "shop.sqlite", "--joint", "sex,income", "-m", "sex=sex.json", "-m", "income=income.json"]
    code, said, _ = run("estimate", "people", *words, "--json")
    assert code == 0
    assert json.loads(said)["sample_size"] == 4000


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["estimate", "out.csv", "--joint", "sex,income"], "must be given"),
        (["estimate", "out.csv", "--joint", "sex,income", "-m", "sex.json"], "as NAME=MECHANISM"),
        (["estimate", "out.csv", "--joint", "sex", "-m", "age=sex.json"], "which --joint does not"),
        (["estimate", "out.csv", "--joint", "sex", "-c", "sex"], "leave --column out"),
        (["estimate", "out.csv", "-m", "sex.json", "-m", "income.json"], "several times with --joint only"),
        (["estimate", "out.parquet", "--joint", "sex,income", "--by", "sex"], "names released columns"),
        (["regress", "income ~ agee", "out.parquet"], "Did you mean 'age'"),
        (["regress", "income", "out.parquet"], "formula must be a text"),
    ],
)
def test_bad_words_end_with_two_and_the_way_out(folder: Path, words: list[str], error: str) -> None:
    code, _, said = run(*words)
    assert code == 2
    assert error in said


def test_the_mechanisms_of_several_secrets_are_found_next_to_a_csv(folder: Path) -> None:
    SEX.save("out.sex.mechanism.json")
    INCOME.save("out.income.mechanism.json")
    words = ["income ~ age + C(sex)", "out.csv", "--json"]
    code, said, noted = run("regress", *words)
    assert code == 0
    assert "taken as it is" not in noted
    _, given, _ = run("regress", *words, "-m", "sex=sex.json", "-m", "income=income.json")
    _, one_given, _ = run("regress", *words, "-m", "sex=sex.json")
    assert json.loads(said)["coefficients"] == json.loads(given)["coefficients"]
    assert json.loads(said)["coefficients"] == json.loads(one_given)["coefficients"]
    for call, told in (
        (["estimate", "out.csv", "-c", "income", "--by", "sex"], "by='sex' is a released column itself"),
        (["estimate", "out.csv", "--joint", "income", "--by", "sex"], "names released columns: 'sex'"),
        (["estimate", "out.csv"], "which released column of 'out.csv' is meant"),
    ):
        code, _, noted = run(*call)
        assert code == 2
        assert told in " ".join(noted.split())
