"""The command line as a whole: help, version, errors, exit codes, and the script itself."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app
from leakwise.cli.app import COMMANDS

RUN = CliRunner()


def run(*words: str) -> tuple[int, str, str]:
    done = RUN.invoke(app, list(words), catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


def certificate(path: Path) -> Path:
    lw.certify(lw.randomized_response(2, lift=3), lw.Prior.uniform(2), lift=1.5).save(path)
    return path


@pytest.mark.parametrize("words", [("--help",), ("-h",), *((name.replace("_", "-"), "--help") for name in COMMANDS)])
def test_help_teaches_by_example(words: tuple[str, ...]) -> None:
    code, said, _ = run(*words)
    assert code == 0
    assert "leakwise " in said.split("Usage:")[1].partition("\n")[2]


def test_defaults_in_square_brackets_are_shown() -> None:
    words = " ".join(run("release", "--help")[1].replace("│", " ").split())
    assert "[default: next to --out]" in words
    assert "\\[" not in words


def test_paragraphs_of_a_help_fill_the_terminal() -> None:
    words = run("design", "--help")[1].splitlines()
    first = next(place for place, line in enumerate(words) if line.startswith(" The value is"))
    paragraph = words[first : first + next(k for k, line in enumerate(words[first:]) if not line.strip())]
    # No line but the last ends where the first word of the next one would still have had room.
    for line, following in itertools.pairwise(paragraph):
        assert len(line.rstrip()) + 1 + len(following.split()[0]) > 78


@pytest.mark.parametrize("name", COMMANDS)
def test_the_name_of_every_option_is_whole_at_80_columns(name: str) -> None:
    words = run(name.replace("_", "-"), "--help")[1]
    assert {len(line) for line in words.splitlines()} == {0, 80}
    assert not re.findall(r"--[a-z-]+…", words)


def test_version() -> None:
    assert run("--version") == (0, f"leakwise {lw.__version__}\n", "")


def test_an_unknown_command_is_named_with_the_near_one() -> None:
    code, _, said = run("verfy")
    assert code == 2
    assert "verify" in said


def test_the_script_runs_and_loads_nothing_heavy_for_its_help() -> None:
    script = (
        "import sys, leakwise.cli as c\n"
        "try: sys.argv = ['leakwise', '--help']; c.main()\n"
        "except SystemExit as end: code = end.code\n"
        "print(code, sorted({'scipy', 'highspy', 'altair', 'pandas', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"


def test_python_dash_m_and_a_terminal_without_unicode(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "leakwise", "verify", str(certificate(tmp_path / "c.json"))]
    done = subprocess.run(command, capture_output=True, check=False, env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"Verified. No guess about the secret")


# ----------------------------------------------------------------------------------------------------------- verify


def test_verify_says_the_promise(tmp_path: Path) -> None:
    code, said, _ = run("verify", str(certificate(tmp_path / "c.json")))
    assert code == 0
    assert said.startswith("Verified. No guess about the secret becomes more than 1.5 times as likely")


def test_verify_as_json(tmp_path: Path) -> None:
    code, said, _ = run("verify", str(certificate(tmp_path / "c.json")), "--json")
    assert code == 0
    assert json.loads(said)["ratio"] == "3/2"


def test_verify_rejects_a_false_claim(tmp_path: Path) -> None:
    """A certificate that asks for less than it proves is rejected with exit code 1."""
    path = tmp_path / "c.json"
    lw.certify(lw.randomized_response(2, lift=3), lw.Prior.uniform(2), lift=1.2).save(path)
    code, said, error = run("verify", str(path))
    assert code == 1
    assert said == ""
    assert error.startswith("Error: ")
    assert "more than asked" in error
    assert error.count("\n") == 1


def test_verify_of_a_damaged_or_missing_or_foreign_file(tmp_path: Path) -> None:
    path = certificate(tmp_path / "c.json")
    path.write_bytes(path.read_bytes().replace(b"0x", b"0y", 1))
    foreign = tmp_path / "prior.json"
    lw.Prior.uniform(2).save(foreign)
    for file, said in ((path, "damaged"), (tmp_path / "none.json", "Cannot read"), (foreign, "leakwise.prior")):
        code, _, error = run("verify", str(file))
        assert code == 2
        assert said in error
        assert "Traceback" not in error


def test_a_warning_is_a_note() -> None:
    import typer

    from leakwise.cli.app import _Commands

    other = typer.Typer(cls=_Commands)

    @other.command()
    def warn() -> None:
        import warnings

        warnings.warn("look\nout", lw.LeakwiseWarning, stacklevel=1)

    @other.command()
    def rest() -> None: ...

    done = RUN.invoke(other, ["warn"])
    assert done.exit_code == 0
    assert done.stderr == "Note: look out\n"


def test_the_shell_completes_commands() -> None:
    asked = {**os.environ, "_LEAKWISE_COMPLETE": "complete_bash", "COMP_WORDS": "leakwise des", "COMP_CWORD": "1"}
    script = "import sys; from leakwise.cli import main; sys.argv = ['leakwise']; main()"
    done = subprocess.run([sys.executable, "-c", script], env=asked, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["design"]
