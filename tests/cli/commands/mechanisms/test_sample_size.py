"""``leakwise sample-size``."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from leakwise import sample_size
from leakwise.cli.app import app

runner = CliRunner()


def test_the_command_says_what_the_function_says() -> None:
    done = runner.invoke(app, ["sample-size", "20", "--lift", "5", "--target-lift", "6", "--failure", "1e-5", "--json"])
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert found["samples"] == sample_size(20, lift=5, target_lift=6, failure="1e-5")
    assert found["by_method"]["weissman"] == sample_size(20, lift=5, target_lift=6, failure="1e-5", method="weissman")
    table = runner.invoke(app, ["sample-size", "4", "-e", "0.5", "-t", "0.6"])
    assert table.exit_code == 0
    assert f"{sample_size(4, 0.5, 0.6, failure=1e-6):,}" in table.stdout


def test_an_impossible_target_is_an_error_in_words() -> None:
    done = runner.invoke(app, ["sample-size", "4", "-e", "0.5", "-t", "0.5"])
    assert done.exit_code == 2
    assert "target must be above" in done.output
