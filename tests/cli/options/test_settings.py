"""``--config`` and ``--save-config``: a release that is made again from a file of settings."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app
from leakwise.cli.options.settings import saved_settings

RUN = CliRunner()


def run(*words: object) -> tuple[int, str, str]:
    done = RUN.invoke(app, [str(word) for word in words], catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def years(tmp_path: Path) -> tuple[Path, Path]:
    generator, files = np.random.default_rng(3), (tmp_path / "first.csv", tmp_path / "second.csv")
    for file in files:
        pd.DataFrame({"name, given": range(60), "ill": generator.choice(["no", "yes"], 60)}).to_csv(file, index=False)
    return files


ASKED = ("-c", "ill", "--domain", "no,yes", "--lift", "1.50", "--prior", "no=0.8,yes=0.2", "--drop", '"name, given"')


def test_the_same_settings_a_year_later_use_the_same_mechanism_and_are_a_second_release(years, tmp_path):
    first, second = years
    settings, ledger = tmp_path / "ill.toml", tmp_path / "l.db"
    words = (*ASKED, "--ledger", ledger, "--dataset", "clinic", "--allow-certainty", "--save-config", settings)
    code, said, _ = run("release", first, *words, "--certificate", tmp_path / "c.json")
    assert code == 0
    assert f"settings: {settings}" in said
    kept = tmp_path / "first.released.mechanism.json"
    assert tomllib.loads(settings.read_text()) == {
        "column": ["ill"],
        "domain": ["no,yes"],
        "lift": 1.5,
        "prior": ["no=0.8,yes=0.2"],
        "drop": ['"name, given"'],
        "ledger": str(ledger),
        "dataset": "clinic",
        "allow-certainty": True,
        "mechanism": str(kept),
    }
    assert settings.read_text().startswith("# Settings for: leakwise release TABLE --config ill.toml\n")
    assert "ill.toml" in (tmp_path / "first.released.report.html").read_text()
    code, said, said_wrong = run("release", second, "--config", settings)
    assert (code, said_wrong) == (0, "")
    again = lw.Mechanism.load(tmp_path / "second.released.mechanism.json")
    assert np.array_equal(again.matrix, lw.Mechanism.load(kept).matrix)
    assert lw.Ledger(ledger).total("clinic", "ill").releases == 2
    assert list(pd.read_csv(tmp_path / "second.released.csv").columns) == ["ill"]


def test_what_is_typed_wins_over_the_settings(years, tmp_path):
    settings = tmp_path / "s.toml"
    settings.write_text(
        f'table = "{years[0]}"\ncolumn = "ill"\ndomain = "no,yes"\nlift = 1.5\nprior = "no=0.8,yes=0.2"\ndrop = "age"\n'
    )
    assert "column 'age' is not in " in run("release", "--config", settings)[2]
    code, said, _ = run("release", "--config", settings, "--drop", '"name, given"', "--lift", "1.25")
    assert code == 0
    assert "more than 1.25 times as likely" in said


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lfit = 2\n", "contain the unknown key 'lfit'. Did you mean 'lift'?"),
        ("dry-run = true\n", "may not contain 'dry-run': give it on the command line"),
        ("prior-from-table = 'yes'\n", "'prior-from-table' in the settings 's.toml' must be true or false. Got 'yes'"),
        ("lift = [2]\n", "'lift' in the settings 's.toml' must be a text or a number, as it is typed after --lift"),
        ("given = [true]\n", "'given' in the settings 's.toml' must be a text or a number"),
        ("lift 2\n", "are not a TOML file"),
        (None, "Cannot read the settings 's.toml': No such file or directory."),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(text, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("s.toml").write_text(text)
    code, _, said = run("release", "t.csv", "--config", "s.toml")
    assert code == 2
    assert words in said


def test_a_number_keeps_all_its_digits(years, tmp_path):
    """As a float it would be 1.1, and the limit a little larger than was asked for."""
    settings = tmp_path / "s.toml"
    run(
        "release",
        years[0],
        *(one if one != "1.50" else "1.0999999999999999999" for one in ASKED),
        "--save-config",
        settings,
    )
    assert "lift = 1.0999999999999999999\n" in settings.read_text()
    assert run("release", years[1], "--config", settings)[0] == 0
    assert lw.certify(
        lw.Mechanism.load(tmp_path / "second.released.mechanism.json"),
        lw.Prior({"no": 0.8, "yes": 0.2}),
        lift="1.0999999999999999999",
    ).holds


def test_a_mechanism_that_does_not_fit_the_next_table_says_the_way_out(tmp_path):
    generator = np.random.default_rng(5)
    for name, share in (("a", 0.3), ("b", 0.1)):
        ill = generator.choice(["no", "yes"], 4000, p=[1 - share, share])
        pd.DataFrame({"ill": ill}).to_csv(tmp_path / f"{name}.csv", index=False)
    words = ("-c", "ill", "--domain", "no,yes", "--lift", "2", "--prior-from-table", "--failure", "1e-6")
    assert run("release", tmp_path / "a.csv", *words, "--save-config", tmp_path / "s.toml")[0] == 0
    code, _, said = run("release", tmp_path / "b.csv", "--config", tmp_path / "s.toml")
    assert code == 1
    assert "or leave the mechanism out (mechanism=, --mechanism, or 'mechanism' in the settings)" in said


def test_settings_that_an_editor_saved_with_a_byte_order_mark_and_carriage_returns_are_read(years, tmp_path):
    settings = tmp_path / "s.toml"
    lines = [
        'column = "ill"',
        'domain = "no,yes"',
        "lift = 1.5",
        'prior = "no=0.8,yes=0.2"',
        "drop = '\"name, given\"'",
    ]
    settings.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    assert run("release", years[0], "--config", settings, "--dry-run")[0] == 0


COMMANDS = get_command(app)
RELEASE = COMMANDS.get_command(typer.Context(COMMANDS), "release")
NEVER_SAVED = {"config", "save_config", "overwrite", "dry_run", "as_json", "help"}
OF_ONE_RELEASE = {"table", "out", "report", "steward_report", "certificate", "save_mechanism", "format", "out_format"}


@pytest.mark.parametrize(
    "option", [one for one in RELEASE.params if one.name not in NEVER_SAVED | OF_ONE_RELEASE], ids=lambda one: one.name
)
def test_every_option_of_a_release_is_the_same_after_it_was_saved_and_read(tmp_path, option):
    for text in ("-a", '@"ä" = \\n, \t\x7f\u2028', "007", "1e5", "-0", "true", "", " x "):
        value = {int: "12", float: "0.125"}.get(option.type_descriptor.annotation, text)
        words = [option.opts[0]] if option.is_flag else [option.opts[0], value] * (2 if option.multiple else 1)
        typed = RELEASE.make_context("release", ["t.csv", *words])
        settings = saved_settings(typed, tmp_path / "s.toml", {})
        again = RELEASE.make_context("release", ["t.csv", "--config", str(settings)])
        assert again.params[option.name] not in (None, False)
        assert {**again.params, "config": None} == typed.params
