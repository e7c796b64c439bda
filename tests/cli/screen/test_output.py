"""What commands print."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from leakwise.cli.screen.output import print_json, print_table


def test_a_table_in_a_pipe_is_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["letter", "mass"], [["a", 0.5], ["[b]", 0.25]], title="A prior")
    assert capsys.readouterr().out.splitlines() == [
        "A prior",
        "letter    mass",
        "──────  ──────",
        "a       0.5000",
        "[b]     0.2500",
    ]


def test_a_table_on_a_terminal_is_drawn(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_table(["letter", "mass"], [["a", 0.5], ["[b]", None]], title="A prior")
    said = capsys.readouterr().out
    assert "┏━━━━━━━━┳━━━━━━━━┓" in said
    assert "[b]" in said  # a label is no markup
    assert "0.5000" in said


def test_json_is_strict(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": float("inf"), "b": [np.float64(0.5), np.arange(2)], 3: (float("-inf"), None, True)})
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert found == {"a": "inf", "b": [0.5, [0, 1]], "3": ["-inf", None, True]}
