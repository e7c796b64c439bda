"""Every command on an example: its exit code, its JSON, and what it prints at 80 and at 60 columns."""

from __future__ import annotations

import csv
import itertools
import json
import random
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import leakwise as lw
from leakwise.charts._plain import display_width
from leakwise.cli import app
from leakwise.cli.app import COMMANDS
from leakwise.cli.screen import layout
from leakwise.cli.screen.layout import MOST_ROWS, laid_out

RUN = CliRunner()

# In the order in which they build on one another.
EXAMPLES = """
audit randomized-response:letters=no/yes,lift=3 --prior no=0.7,yes=0.3
audit randomized-response:n=30,lift=3 --prior uniform
audit randomized-response:letters=no/yes,lift=3 --table survey.csv --column smokes --given sex
audit randomized-response:letters=no/yes,lift=3 --prior no=0.7,yes=0.3 --invariant
design --prior a=0.5,b=0.3,c=0.2 --lift 2 --certificate c.json
design --counts no=700,yes=300 --lift 2 --failure 1e-6
design --prior uniform:20 --lift 2
tradeoff --prior a=0.5,b=0.3,c=0.2
envelope randomized-response:n=5,epsilon=1 --prior 0.1,0.2,0.2,0.2,0.3 --delta 0.05
envelope randomized-response:n=5,epsilon=1 --prior 0.1,0.2,0.2,0.2,0.3
envelope randomized-response:n=5,epsilon=1 --prior 0.1,0.2,0.2,0.2,0.3 --growth 1,2
worst-case distance --prior uniform:7 --lift 2
worst-case distance --prior uniform:7
verify c.json
export randomized-response:letters=no/yes,lift=3 --to script --name smokes -o smokes.js
sample-size 20 --lift 5 --target-lift 6
records leakage parity:n=4 laplace:epsilon=1 --entropy 2
records curve parity:n=4 symmetric:flip=0.3 --points 4
records least-leakage parity:n=3 --distortion 0.2 --entropy 1.5
records least-distortion parity:n=3 --leakage 0.1
records compare parity:n=4 --epsilon 1 --entropy 2
advise survey.csv -c smokes --drop name
memo-key key.bin
release survey.csv -c smokes --domain no,yes --lift 2 --prior-from-table --failure 1e-6 --drop name --dry-run
release survey.csv -c smokes --domain no,yes --lift 2 --prior-from-table --failure 1e-6 --drop name \
  --ledger ledger.db --certificate r.json
estimate survey.released.csv --by sex
regress smokes~C(sex) survey.released.csv
ledger show ledger.db
ledger entries ledger.db
ledger total ledger.db --dataset survey.csv
ledger budget ledger.db --dataset survey.csv --lift 8
ledger settle ledger.db
ledger cancel reserved.db 1
ledger export ledger.db ledger.json
pack r.json
papers --list
""".replace("\\\n", " ")


def examples() -> list[str]:
    return EXAMPLES.strip().splitlines()


def commands() -> Iterator[tuple[str, Any]]:
    """Every command and subcommand with its name as it is typed."""
    group: Any = typer.main.get_command(app)
    for name in COMMANDS:
        command = group.get_command(None, name)
        parts = getattr(command, "commands", None)
        yield from ((f"{name} {part}", one) for part, one in parts.items()) if parts else [(name, command)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("commands")
    draw = random.Random(1)
    with (path / "survey.csv").open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["name", "sex", "smokes"])
        rows.writerows([f"p{k}", draw.choice("fm"), "yes" if draw.random() < 0.2 else "no"] for k in range(4000))
    return path


@dataclass(frozen=True)
class Page:
    """What a command printed at 80 columns, and the parts of each of its results."""

    done: Any
    results: list[list[Any]]

    def lines(self, width: int | None, *, everything: bool) -> list[str]:
        return [line.text for parts in self.results for line in laid_out(parts, width, everything=everything)]


@pytest.fixture(scope="module")
def pages(folder: Path) -> dict[str, Page]:
    found: dict[str, Page] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("COLUMNS", "80")
        certified = lw.certify(lw.randomized_response(2, lift=2), lw.Prior.uniform(2), lift=2)
        lw.Ledger("reserved.db").reserve("d", "s", certified)
        for text in examples():
            results: list[list[Any]] = []

            def noted(parts: Any, *rest: Any, to: Any = results, **more: Any) -> Any:
                to.append(list(parts))
                return laid_out(parts, *rest, **more)

            patch.setattr(layout, "laid_out", noted)
            found[text] = Page(RUN.invoke(app, shlex.split(text), catch_exceptions=False), results)
    return found


def test_every_command_has_an_example() -> None:
    typed = {name for name, _ in commands() if any(one.startswith(name) for one in examples())}
    assert {name for name, _ in commands()} - typed == {"studio"}  # which runs until it is stopped


def numbers(lines: list[str]) -> set[str]:
    words = re.sub(r"… \d+ more", "", " ".join(lines)).split()  # without the counts of what is left out
    return {word for word in words if re.fullmatch(r"[(\[]?[0-9][0-9.,:/e+-]*[%)\];]*", word)}


@pytest.mark.parametrize("text", examples())
def test_nothing_breaks_at_80_and_at_60_columns(pages: dict[str, Page], text: str) -> None:
    page = pages[text]
    assert page.done.exit_code == 0, page.done.stderr
    assert page.done.stdout.splitlines() == page.lines(80, everything=False)
    wide = numbers(page.lines(10_000, everything=True)) | numbers(page.lines(10_000, everything=False))
    for width, everything in itertools.product((80, 60), (False, True)):
        lines = page.lines(width, everything=everything)
        assert max(map(display_width, lines)) <= width
        assert numbers(lines) - wide <= numbers([line for line in lines if line.endswith("\\")])  # of commands


@pytest.mark.parametrize("text", examples())
def test_the_page_is_short_and_says_what_it_leaves_out(pages: dict[str, Page], text: str) -> None:
    page = pages[text]
    short, full = page.lines(None, everything=False), page.lines(None, everything=True)
    assert not any("--all" in line for line in full)
    assert (set(full) <= set(short)) == (not any(line.startswith("More with --all: ") for line in short))
    for parts in page.results:
        rows = sum("  " in line.text for line in laid_out(parts, None))
        assert rows <= MOST_ROWS + 12  # heads and rules of tables


def test_the_guarantee_is_the_first_sentence(pages: dict[str, Page]) -> None:
    first = {text: page.done.stdout.splitlines()[0] for text, page in pages.items()}
    for text, line in first.items():
        if re.match(r"(audit (?!.*--table)|design|worst-case.*lift|release|envelope.*delta)", text):
            assert line.startswith("No guess about "), text
    assert first["verify c.json"].startswith("Verified. No guess about the secret")
    assert first["ledger show ledger.db"].startswith("All releases of survey.csv together make no guess")


@pytest.mark.parametrize("name", [name for name, _ in commands()])
def test_wrong_input_ends_in_exit_code_2(name: str) -> None:
    done = RUN.invoke(app, [*name.split(), "--no-such-option"])
    assert done.exit_code == 2
    done = RUN.invoke(app, [*name.split(), *_wrong(name)])
    assert done.exit_code == 2, done.output
    assert "Traceback" not in done.output


def _wrong(name: str) -> list[str]:
    if name.startswith("records"):
        return [
            "no-such-query:n=4",
            *(["symmetric:flip=0.3"] if name.endswith(("leakage", "curve")) else []),
            "-d",
            "1",
        ]
    return {
        "sample-size": ["none"],
        "papers": ["no-such-paper"],
        "studio": ["--port", "none"],
        "memo-key": ["no/such/folder/key.bin"],
    }.get(name, ["no-such-file.json"])


def test_what_is_rejected_or_broken_ends_in_exit_code_1(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    lw.certify(lw.randomized_response(2, lift=3), lw.Prior.uniform(2), lift=1.2).save(path)
    for words in (["verify"], ["pack"]):
        done = RUN.invoke(app, [*words, str(path)])
        assert done.exit_code == 1
        assert done.stderr.startswith("Error: ")
    words = ["audit", "randomized-response:letters=no/yes,lift=3", "--prior", "no=0.7,yes=0.3", "--anyone"]
    assert RUN.invoke(app, [*words, "3"]).exit_code == 0
    done = RUN.invoke(app, [*words, "2"])
    assert done.exit_code == 1
    assert "misses" in done.stdout
    assert RUN.invoke(app, [*words, "2", "--json"]).exit_code == 1


def test_an_interruption_ends_in_exit_code_130(monkeypatch: pytest.MonkeyPatch) -> None:
    from leakwise.studio import server

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(server, "serve", interrupted)
    assert RUN.invoke(app, ["studio", "--no-browser"]).exit_code == 130


def test_json_is_json_on_every_command(folder: Path, pages: dict[str, Page], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert [name for name, command in commands() if not any("--json" in one.opts for one in command.params)] == []
    for text in (
        "ledger budget ledger.db --dataset survey.csv --lift 9",
        "ledger export ledger.db l.csv",
        "verify c.json",
    ):
        json.loads(RUN.invoke(app, [*shlex.split(text), "--json"], catch_exceptions=False).stdout)
