"""``leakwise export``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app

RUN = CliRunner()
RESPONSE = "randomized-response:letters=no/yes,lift=3"


def run(*words: object) -> tuple[int, str, str]:
    done = RUN.invoke(app, ["export", *map(str, words)], catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


def test_the_sampler_is_printed_or_written(tmp_path: Path) -> None:
    source = lw.export(lw.randomized_response(["no", "yes"], lift=3), "js").source
    assert run(RESPONSE, "--to", "js") == (0, source, "")
    out = tmp_path / "sampler.js"
    code, said, _ = run(RESPONSE, "--to", "js", "-o", out)
    assert code == 0
    assert out.read_text() == source
    assert "more than 3 times as likely" in said
    code, _, said = run(RESPONSE, "--to", "sql", "-o", out)
    assert code == 2
    assert "exists already" in said
    assert run(RESPONSE, "--to", "sql", "-o", out, "--overwrite", "--name", "draw_smokes")[0] == 0
    assert 'CREATE FUNCTION "draw_smokes_from"' in out.read_text()


def test_json_says_where_it_is_or_has_it(tmp_path: Path) -> None:
    told = json.loads(run(RESPONSE, "--to", "script", "--json")[1])
    assert told == json.loads(json.dumps(lw.export(lw.randomized_response(["no", "yes"], lift=3), "script").to_dict()))
    told = json.loads(run(RESPONSE, "--to", "script", "-o", tmp_path / "s.js", "--json")[1])
    assert set(told) == {"to", "guarantee", "sha256", "bytes", "out"}
    assert told["bytes"] == (tmp_path / "s.js").stat().st_size


def test_a_file_by_strata_and_its_certificate(tmp_path: Path) -> None:
    prior = lw.PriorByStratum({"f": ["0.8", "0.2"], "m": ["0.5", "0.5"]}, {"sex": ["f", "m"]})
    found = lw.design(prior, lift=1.5, anyone=10)
    mechanism, certificate = tmp_path / "m.json", tmp_path / "c.json"
    found.mechanism.save(mechanism)
    found.certificate.save(certificate)
    code, said, _ = run(mechanism, "--to", "js", "--certificate", certificate)
    assert code == 0
    assert "as 'sex' makes it already" in said
    # One about another mechanism is rejected with exit code 1, and nothing is written.
    lw.certify(lw.randomized_response(2, lift=3), lw.Prior([0.5, 0.5])).save(tmp_path / "other.json")
    out = tmp_path / "s.js"
    code, _, said = run(
        "randomized-response:n=2,lift=5", "--to", "js", "--certificate", tmp_path / "other.json", "-o", out
    )
    assert (code, out.exists()) == (1, False)
    assert "about another mechanism" in said


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--to", "sql", "--dialect", "duckdb"], "has no generator known to be secure"),
        (["--to", "rust"], "to must be one of js, script, sql"),
    ],
)
def test_what_cannot_be_exported_is_refused_with_the_reason(words: list[str], reason: str) -> None:
    code, said, error = run(RESPONSE, *words)
    assert (code, said) == (2, "")
    assert reason in error


def test_a_mechanism_is_not_overwritten_by_its_sampler(tmp_path: Path) -> None:
    lw.randomized_response(2, lift=3).save(tmp_path / "m.json")
    code, _, said = run(tmp_path / "m.json", "--to", "js", "-o", tmp_path / "m.json", "--overwrite")
    assert code == 2
    assert "must be different files" in said
