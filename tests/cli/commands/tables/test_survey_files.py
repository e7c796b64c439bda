"""Stata and SPSS files on the command line, from the release to the estimate."""

from __future__ import annotations

import json
import random
from pathlib import Path

import polars as pl
import pyreadstat
import pytest
from typer.testing import CliRunner

from leakwise.cli import app

RUN = CliRunner()
CODES = {"dta": "1,2,.a,", "sav": "1,2,8,"}
NAMES = 'no,yes,"refused, or not asked",'


def run(*words: object) -> tuple[int, str, str]:
    done = RUN.invoke(app, [str(word) for word in words], catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture(params=["dta", "sav"])
def survey(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    chance = random.Random(6)
    path = tmp_path / f"survey.{request.param}"
    sex = [float(chance.choice([1, 2])) for _ in range(2000)]
    if request.param == "dta":
        values = pl.Series([chance.choice([1, 2, "a", None]) for _ in sex], dtype=pl.Object)
        labels = {"smokes": {1: "no", 2: "yes", "a": "refused, or not asked"}}
        pyreadstat.write_dta(
            pl.DataFrame({"smokes": values, "sex": sex}), str(path), missing_user_values={"smokes": ["a"]},
            variable_value_labels=labels,
        )  # fmt: skip
    else:
        pyreadstat.write_sav(
            pl.DataFrame({"smokes": [chance.choice([1.0, 2.0, 8.0, None]) for _ in sex], "sex": sex}), str(path),
            variable_value_labels={"smokes": {1.0: "no", 2.0: "yes", 8.0: "refused, or not asked"}},
            missing_ranges={"smokes": [8.0]},
        )  # fmt: skip
    return path


@pytest.mark.parametrize("named", ["labels", "codes"])
def test_a_survey_is_released_and_its_frequencies_estimated(survey: Path, named: str) -> None:
    ending = survey.suffix[1:]
    domain = NAMES if named == "labels" else CODES[ending]
    code, _, said = run(
        "release", survey, "-c", "smokes", "--domain", domain, "--lift", "2", "--prior-from-table", "--failure", "1e-6",
        "--given", "sex",
    )  # fmt: skip
    assert code == 0, said
    out = survey.with_name(f"survey.released.{ending}")
    code, shown, said = run("estimate", out, "--json")
    assert code == 0, said
    found = json.loads(shown)
    wanted = ["no", "yes", "refused, or not asked", None] if named == "labels" else None
    assert wanted is None or found["labels"] == wanted
    assert sum(found["frequencies"]) == pytest.approx(1)


def test_a_code_that_was_not_declared_is_refused_and_nothing_is_written(survey: Path) -> None:
    before = sorted(survey.parent.iterdir())
    code, _, said = run(
        "release",
        survey,
        "-c",
        "smokes",
        "--domain",
        "no,yes,",
        "--lift",
        "2",
        "--prior-from-table",
        "--failure",
        "1e-6",
    )
    assert code == 2
    assert (".a" if survey.suffix == ".dta" else "8") in said
    assert sorted(survey.parent.iterdir()) == before


def test_a_survey_is_advised_on(survey: Path) -> None:
    code, shown, said = run("advise", survey, "-c", "smokes")
    assert code == 0, said
    assert f"leakwise release {survey}" in shown
