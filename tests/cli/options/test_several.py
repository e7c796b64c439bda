"""``leakwise release --protect``: several secrets with files, ledger, report and estimates."""

from __future__ import annotations

import html
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app

RUN = CliRunner()


def run(*words: object) -> tuple[int, str, str]:
    done = RUN.invoke(app, [str(word) for word in words], catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    generator = np.random.default_rng(4)
    ill = generator.random(3000) < 0.3
    old = generator.random(3000) < np.where(ill, 0.6, 0.4)
    frame = pd.DataFrame(
        {
            "name": range(3000),
            "ill": np.where(ill, "yes", "no"),
            "age": np.where(old, "old", "young"),
            "sex": generator.choice(["f", "m"], 3000),
        }
    )
    frame.to_csv(tmp_path / "clinic.csv", index=False)
    frame.to_parquet(tmp_path / "clinic.parquet")
    return tmp_path / "clinic.csv"


SECRETS = ("--protect", "ill=2", "--protect", "age+sex=1.5", "--drop", "name")
DOMAINS = ("--domain", "no,yes", "--domain", "young,old", "--domain", "f,m")
TABLE = ("--prior-from-table", "--failure", "1e-6")


def test_several_secrets_are_released_verified_entered_and_estimated(clinic: Path, tmp_path: Path) -> None:
    kept = ("--certificate", tmp_path / "c.json", "--ledger", tmp_path / "l.db")
    code, said, _ = run("release", clinic, *SECRETS, *DOMAINS, *TABLE, *kept)
    assert code == 0
    assert "becomes more than 3 times as likely" in said
    assert "at most 2 times by that of ill, then at most 1.5 times by that of age and sex" in said
    names = [f"clinic.released.{end}" for end in ("csv", "report.html", "ill.mechanism.json", "age+sex.mechanism.json")]
    assert all((tmp_path / name).is_file() for name in names)
    assert "Verified. No guess about a row" in run("verify", tmp_path / "c.json")[1]
    assert list(pd.read_csv(tmp_path / names[0]).columns) == ["ill", "age", "sex"]
    # The files next to it say how to go back.
    code, said, _ = run("estimate", tmp_path / names[0], "--joint", "ill,age+sex", "--json")
    assert code == 0
    assert np.shape(json.loads(said)["frequencies"]) == (2, 4)
    page = (tmp_path / names[1]).read_text(encoding="utf-8")
    assert "lw.estimate('clinic.released.csv', {'ill': None, ('age', 'sex'): None})" in html.unescape(page)
    assert page.count("<details><summary>") >= 2
    assert "<h1>Release of ill and age and sex</h1>" in page
    entries = lw.Ledger(tmp_path / "l.db").entries()
    assert [one.secret for one in entries] == [("ill",), ("age", "sex")]


def test_parquet_carries_its_mechanisms_and_json_says_the_same(clinic: Path, tmp_path: Path) -> None:
    source = clinic.with_suffix(".parquet")
    report = tmp_path / "r.json"
    code, said, _ = run("release", source, *SECRETS, *DOMAINS, *TABLE, "--total", "2.5", "--report", report, "--json")
    assert code == 0
    told = json.loads(said)
    assert told["promise"]["lift"] <= 2.5
    assert told["promise"]["total"] == "lift = 5/2"
    assert json.loads(report.read_text(encoding="utf-8"))["promise"] == told["promise"]
    assert [len(part["columns"]) for part in told["secrets"]] == [1, 2]
    assert run("estimate", tmp_path / "clinic.released.parquet", "--joint", "ill,age+sex")[0] == 0


def test_as_one_secret_and_with_priors_of_each(clinic: Path, tmp_path: Path) -> None:
    code, said, _ = run("release", clinic, *SECRETS, *DOMAINS, *TABLE, "--joint", "--out", tmp_path / "one.csv")
    assert code == 0
    assert "more than 3 times as likely" in said
    assert (tmp_path / "one.mechanism.json").is_file()
    priors = ("--prior", "no=0.7,yes=0.3", "--prior", "young=0.5,old=0.5")
    words = ("--protect", "ill=2", "--protect", "age=1.5", "--drop", "name,sex", *priors)
    assert run("release", clinic, *words, "--out", tmp_path / "two.csv")[0] == 0
    lw.Prior({("no", "young"): 0.4, ("no", "old"): 0.3, ("yes", "young"): 0.1, ("yes", "old"): 0.2}).save(
        tmp_path / "p.json"
    )
    words = ("--protect", "ill=2", "--protect", "age=1.5", "--drop", "name,sex", "--prior", tmp_path / "p.json")
    assert run("release", clinic, *words, "--out", tmp_path / "three.csv")[0] == 0


def test_margins_of_several_secrets_find_their_lifts_and_settings_keep_them(clinic: Path, tmp_path: Path) -> None:
    secrets = ("--protect", "ill", "--protect", "age+sex", "--drop", "name")
    margins = ("--margin", "ill=0.05", "--margin", "age+sex=0.08")
    files = ("--out", tmp_path / "one.csv", "--certificate", tmp_path / "c.json", "--save-config", tmp_path / "s.toml")
    code, said, _ = run("release", clinic, *secrets, *margins, *DOMAINS, *TABLE, *files, "--json")
    assert code == 0
    told = json.loads(said)["secrets"]
    assert "within 0.05" in told[0]["how"]["asked of it"]
    assert "within 0.08" in told[1]["how"]["asked of it"]
    assert "Verified. No guess about a row" in run("verify", tmp_path / "c.json")[1]
    assert 'margin = ["ill=0.05", "age+sex=0.08"]' in (tmp_path / "s.toml").read_text(encoding="utf-8")
    again = ("--config", tmp_path / "s.toml", "--out", tmp_path / "two.csv", "--dry-run")
    code, said, _ = run("release", clinic, *again, "--certificate", tmp_path / "d.json")
    assert code == 0
    assert f"The least lifts that meet the margins: ill {told[0]['how']['least lift']}" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*SECRETS, *TABLE, "--column", "ill"), "Got both"),
        (TABLE, "Name the secret with --column NAME, or several with --protect"),
        ((*SECRETS, *TABLE, "--domain", "no,yes"), "--domain must be given once for each column of the secrets"),
        ((*SECRETS, *DOMAINS), "Choose what is known of the secrets beforehand"),
        ((*SECRETS, *DOMAINS, *TABLE, "--lift", "2"), "lift must be left out beside a mapping"),
        ((*SECRETS, *DOMAINS, *TABLE, "--total", "1.5"), "total (--total) is 1.5, and ill alone asks for a lift of 2"),
        ((*SECRETS, "--protect", "ill+age=2", *TABLE), "must not overlap"),
        ((*SECRETS, "--protect", "ill=3", *TABLE), "--protect names 'ill' twice"),
        (("--protect", "=2", *TABLE), "--protect must be SECRET=LIFT"),
        ((*SECRETS, *DOMAINS, *TABLE, "--steward-report", "s.html"), "--steward-report is about one secret"),
        ((*SECRETS, *DOMAINS, *TABLE, "--margin", "0.05"), "margin (--margin) finds lifts, and every secret has one"),
        ((*SECRETS, *DOMAINS, *TABLE, "--margin", "ill=0.05"), "Of 'ill': margin (--margin) does not go with lift"),
        ((*SECRETS, *TABLE, "--margin", "ill=0.05", "--margin", "0.1"), "Got '0.1' among others"),
        ((*SECRETS, *TABLE, "--margin", "ill=0.05", "--margin", "ill=0.1"), "--margin names 'ill' twice"),
        ((*SECRETS, *TABLE, "--margin", "0.1", "--values", "no=0"), "--values is about one secret"),
        (("-c", "ill", "--prior", "no=1,yes=1", "--prior", "no=1,yes=1", "--lift", "2"), "--prior must be given once"),
    ],
)
def test_what_is_typed_wrong_says_so(clinic: Path, words: tuple[str, ...], said: str) -> None:
    code, _, told = run("release", clinic, *words)
    assert code != 0
    assert said in " ".join(told.replace("│", " ").split())
