"""What commands print: in the width of the terminal, in colour on one, and as JSON."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pytest

from leakwise.charts.shown import Table
from leakwise.charts.words import Broken, Kept
from leakwise.cli.screen.output import Said, print_json, say, show

GREEN, RED = "\x1b[32m", "\x1b[31m"
SAID = Said([Kept("Nothing leaks."), Broken("Except this."), Table(["value"], [["[b]"]])], {"leaks": False})


def test_a_result_in_a_pipe_is_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    show(SAID, False)
    assert capsys.readouterr().out.splitlines() == ["Nothing leaks.", "Except this.", "", "value", "─────", "[b]"]


def test_kept_is_green_and_broken_is_red_on_a_terminal_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    show(SAID, False)
    say("Error: no such file", colour="red")
    said = capsys.readouterr()
    assert said.out.startswith(f"{GREEN}Nothing leaks.\x1b[0m\n{RED}Except this.\x1b[0m\n")
    assert said.err.startswith(f"{RED}Error")
    show(SAID, True)
    assert json.loads(capsys.readouterr().out) == {"leaks": False}
    monkeypatch.setenv("NO_COLOR", "1")
    show(SAID, False)
    say("Error: no such file", colour="red")
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    show(SAID, False)
    assert "\x1b" not in capsys.readouterr().out


def test_an_error_is_one_line_in_a_pipe_and_wrapped_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    message = "Error: " + "a word and " * 20
    say(message)
    assert capsys.readouterr().err == message.rstrip() + "\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    say(message)
    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) <= 60
    assert " ".join(lines) == message.rstrip()


def test_json_is_strict(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": float("inf"), "b": [np.float64(0.5), np.arange(2)], 3: (float("-inf"), None, True)})
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert found == {"a": "inf", "b": [0.5, [0, 1]], "3": ["-inf", None, True]}
    assert not re.search("\x1b", str(found))
