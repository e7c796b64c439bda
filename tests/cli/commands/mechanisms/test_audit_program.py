"""``leakwise audit-program``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from leakwise import blackbox
from leakwise.blackbox.asking import OutOfTime
from leakwise.blackbox.command import Command
from leakwise.cli import app
from leakwise.errors import InvalidInput

# Randomized response with ε = log 4, many answers in one run.
REPORTER = """
import random, sys
other = {"no": "yes", "yes": "no"}
for _ in range(int(sys.argv[2])):
    print(sys.argv[1] if random.random() < 0.8 else other[sys.argv[1]])
"""
MANY = ("--", sys.executable, "-S", "-E", "-c", REPORTER, "{input}", "{count}")


def run(*words: str, code: int = 0) -> str:
    limit = () if "--seconds" in words else ("--seconds", "600")  # however slow the machine is
    done = CliRunner().invoke(app, ["audit-program", *limit, *words])
    assert done.exit_code == code, done.output
    return done.output


def test_a_false_claim_ends_in_exit_code_1() -> None:
    said = run("--inputs", "no,yes", "--lift", "2", *MANY, code=1)
    assert said.startswith("This claims LDP ε = 0.69315 but leaks at least")
    assert "times in" in said


def test_a_true_claim_ends_in_0_and_can_be_confirmed() -> None:
    told = json.loads(
        run(
            "--inputs",
            "no,yes",
            "-e",
            "1.7",
            "--outputs",
            "no,yes",
            "--runs",
            "20000",
            "--json",
            *MANY,
        )
    )
    assert (told["format"], told["version"], told["verdict"]) == ("leakwise-audit-program", 1, "confirmed")
    assert told["measures"]["ldp"]["lower"] <= 1.3863 <= told["measures"]["ldp"]["upper"]
    assert told["inputs"] == ["no", "yes"]


def test_a_claim_for_a_prior() -> None:
    said = run("--prior", "no=0.9,yes=0.1", "--lift", "1.5", "--runs", "20000", *MANY, code=1)
    assert "This claims PML ε" in said


@pytest.mark.parametrize("words", [("echo", "{input}"), ("cat",)])
def test_one_answer_for_each_run_by_argument_or_standard_input(words: tuple[str, ...]) -> None:
    told = json.loads(run("--inputs", "a,b", "-e", "0.1", "--runs", "160", "--json", "--", *words, code=1))
    assert sorted(told["outcomes"]) == ["a", "b"]


def test_a_run_that_fails_is_an_error_or_an_answer() -> None:
    fails = ("--", "sh", "-c", "echo no such value >&2; exit {input}")
    said = run("--inputs", "3,4", "-e", "0.1", "--runs", "160", *fails, code=2)
    assert "ended with exit code 3 for 3: no such value" in said
    assert "--crashes" in said
    told = run("--inputs", "3,4", "-e", "0.1", "--runs", "160", "--crashes", *fails, code=1)
    assert "exit code" in told


def test_a_run_beyond_the_time_is_killed_with_all_that_it_started() -> None:
    """The grandchild holds the output open: were it alive, this would wait for it."""
    with pytest.raises(OutOfTime):
        Command(["sh", "-c", "sleep 1000 & wait"], seconds=0.3)("x")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--inputs", "no,yes", "-e", "1", "--", "no-such-command"), "'no-such-command' cannot be run"),
        (("-e", "1", "--", "cat"), "--inputs no,yes"),
        (
            ("--inputs", "no,yes", "-e", "1", "--runs", "20", "--", "cat"),
            "--runs must be at least 40 for each input, 80",
        ),
        (("--inputs", "no,yes", "-e", "1", "--seconds", "0", "--", "cat"), "seconds must be a positive number"),
        (("--inputs", "no,yes", "-e", "1", "--crashes", *MANY), "leave {count} out"),
        (("--inputs", "no,yes", "-e", "1", "--", "echo", "one line for {count}"), "must give back 20 answers"),
        (("--inputs", "no,yes", "--measure", "pml", "-e", "1", "--", "cat"), "depends on the prior"),
        (("--inputs", "no,no", "-e", "1", "--", "cat"), "--inputs must be different from each other"),
    ],
)
def test_what_cannot_be_judged_ends_in_2(words: tuple[str, ...], said: str) -> None:
    assert said in " ".join(run(*words, code=2).split())


def test_words_reach_the_command_as_they_are(tmp_path: Path) -> None:
    """No shell reads them, and only the places named are replaced."""
    odd = "$(touch x) `y` 'z' {other} \u2028 *"
    assert Command(["echo", "{input}"])(odd) == odd
    assert Command(["cat"])("a") == "a"
    assert Command(["echo", "{input}{count}"])("a", 7) == ["a7"]
    assert Command(["printf", "%s", "a\nb\n\n"])(None) == "a\nb\n"
    with pytest.raises(InvalidInput, match="after two hyphens"):
        Command([])


def test_one_start_for_each_answer_is_said_to_be_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = blackbox.audit_program

    def out_of_time(*given: Any, **settings: Any) -> Any:
        return whole(*given, **{**settings, "samples": 160})  # as many as there is time for

    monkeypatch.setattr(blackbox, "audit_program", out_of_time)
    assert "{count} in it asks for many answers" in run("--inputs", "no,yes", "-e", "3", "--", "echo", "the same")
    assert "{count} in it" not in run("--inputs", "no,yes", "-e", "3", "--runs", "160", "--", "echo", "the same")
