"""Every example of every help: that it runs, what it prints at 80 and at 60 columns; exit codes, defaults and JSON."""

from __future__ import annotations

import csv
import functools
import itertools
import json
import random
import re
import shlex
import shutil
import sqlite3
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


@functools.cache
def groups() -> dict[str, Any]:
    """Every command as it is named first, and the command line itself."""
    group: Any = typer.main.get_command(app)
    return {"": group, **{name: group.get_command(None, name) for name in COMMANDS}}


@functools.cache
def commands() -> dict[str, Any]:
    """Every command and subcommand by its name as it is typed."""
    found: dict[str, Any] = {}
    for name in COMMANDS:
        parts = getattr(groups()[name], "commands", None)
        found |= {f"{name} {part}": one for part, one in parts.items()} if parts else {name: groups()[name]}
    return found


@functools.cache
def examples() -> list[str]:
    """The examples of all help texts that need nothing but files: no program, no server, no browser, no half hour."""
    found: dict[str, None] = {}
    for text in (one.help for one in (*groups().values(), *commands().values())):
        for paragraph in text.split("\n\n"):
            if paragraph.startswith("\b"):
                lines = re.sub(r"\\\n\s*", "", paragraph).splitlines()[1:]
                found |= dict.fromkeys(line for line in lines if not re.search(ELSEWHERE, line))
    return list(found)


ELSEWHERE = r"\./reporter|localhost|postgresql:|^psql |^zcat |leakwise studio|papers (?!--list)"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the examples name."""
    path = tmp_path_factory.mktemp("files")
    draw = random.Random(1)

    def table(name: str, columns: dict[str, list[Any]]) -> None:
        with (path / name).open("w", newline="") as stream:
            rows = csv.writer(stream)
            rows.writerow(columns)
            rows.writerows(zip(*columns.values(), strict=True))

    size = 3000
    smokes, sex = draw.choices(["no", "yes"], [4, 1], k=size), draw.choices("fm", k=size)
    age, region = [draw.randrange(100) for _ in range(size)], draw.choices(["east", "west"], k=size)
    ward, hiv = draw.choices(["A", "B", ""], k=size), draw.choices(["no", "yes"], [9, 1], k=size)
    income = draw.choices(["low", "high"], k=size)
    people = [f"p{place}" for place in range(size)]
    table("survey.csv", {"smokes": smokes})
    table("next_year.csv", {"smokes": smokes})
    table("2024.csv", {"smokes": smokes})
    table("people.csv", {"smokes": smokes, "sex": sex, "age": age})
    table("clinic.csv", {"name": people, "sex": sex, "age": age, "ward": ward, "hiv": hiv})
    table("wards.csv", {"ward": ["A", "B"]})
    table("ages.csv", {"age": age})
    table("y2.csv", {"id": people, "hiv": hiv})
    table("prior.csv", {"value": "abc", "probability": [0.5, 0.3, 0.2]})
    table("worth.csv", {"": "abc", "x": [1, 0, 0], "y": [0, 1, 2]})
    table("utility.csv", {"": ["low", "middle", "high"], "down": [0, -1, -2], "up": [-2, -1, 0]})
    table("matrix.csv", {"": ["HIV", "flu"], "x": [0.6, 0.4], "y": [0.4, 0.6]})
    kinds = ["male", "pregnant", "flu"]
    table("counts.csv", {"value": kinds, "count": [500, 300, 200]})
    table("pram.csv", {"": kinds, **{one: [0.8 if one == other else 0.1 for other in kinds] for one in kinds}})
    response = lw.randomized_response(["no", "yes"], lift=2)
    for name in ("mechanism.json", "smokes.json"):
        response.save(path / name)
    lw.certify(response, lw.Prior.uniform(["no", "yes"]), lift=2).save(path / "certificate.json")
    strata = lw.PriorByStratum({"f": {"no": 0.8, "yes": 0.2}, "m": {"no": 0.6, "yes": 0.4}}, given={"sex": ["f", "m"]})
    strata.save(path / "priors.json")
    lw.design(strata, lift=2).mechanism.save(path / "by_stratum.json")
    both = {
        name: lw.randomized_response(values, lift=3)
        for name, values in {"sex": ["f", "m"], "income": ["low", "high"]}.items()
    }
    for name, one in both.items():
        one.save(path / f"{name}.json")
    data = {"sex": sex, "income": income, "age": age, "region": region}
    table("in.csv", data)
    lw.release(path / "in.csv", both, out=path / "out.parquet")
    table("out.csv", data)
    with sqlite3.connect(path / "shop.db") as shop:
        for name in ("people", "customers"):
            shop.execute(f"CREATE TABLE {name} (smokes TEXT)")
            shop.executemany(f"INSERT INTO {name} VALUES (?)", [(one,) for one in smokes])
    shop.close()
    known = lw.Prior({"no": "0.9", "yes": "0.1"})
    lw.design(known, lift=2, anyone=20, utility="frequencies").mechanism.save(path / "y1.json")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        public = "-c smokes --lift 2 --prior no=0.8,yes=0.2"
        for text in (
            "memo-key key.bin",
            "release people.csv -c smokes --domain no,yes --lift 2 --prior-from-table --failure 1e-6 --given sex "
            "--drop age -o survey.released.csv",
            f"release survey.csv {public} -o t.csv --report t.report.json --certificate c.json "
            "--save-mechanism t.mechanism.json --save-config s.toml --ledger ledger.db",
            f"release survey.csv {public} -o smokes.csv --save-config smokes.toml",
        ):
            done = RUN.invoke(app, shlex.split(text), catch_exceptions=False)
            assert done.exit_code == 0, done.output
        lw.Ledger("ledger.db").reserve("survey.csv", "smokes", lw.verify("certificate.json"))
    return path


def place(files: Path, text: str, folder: Path) -> None:
    """Put the files that an example reads into its folder, and no other: what it writes is not there yet."""
    read = re.sub(r"(-o|--save\S*|--certificate proof|memo-key|ledger.db ledger) \S+|ledger.json", "", text)
    for one in files.iterdir():
        beside = one.name.partition(".mechanism")[0]
        if one.name in read or (beside != one.name and re.search(rf"\b{beside}\.(csv|toml)", read)):
            shutil.copy(one, folder / one.name)
    if "years" in text:
        (folder / "years").mkdir()
        shutil.copy(files / "2024.csv", folder / "years" / "2024.csv")


@dataclass(frozen=True)
class Page:
    """What a command printed at 80 columns, and the parts of each of its results."""

    done: Any
    results: list[list[Any]]

    def lines(self, width: int | None, *, everything: bool) -> list[str]:
        return [line.text for parts in self.results for line in laid_out(parts, width, everything=everything)]


@pytest.fixture(scope="module")
def pages(files: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Page]:
    found: dict[str, Page] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        for text in examples():
            folder = tmp_path_factory.mktemp("example")
            place(files, text, folder)
            patch.chdir(folder)
            results: list[list[Any]] = []

            def noted(parts: Any, *rest: Any, to: Any = results, **more: Any) -> Any:
                to.append(list(parts))
                return laid_out(parts, *rest, **more)

            patch.setattr(layout, "laid_out", noted)
            command, _, piped = text.partition(" < ")
            words = shlex.split(command)[1:]
            sent = (files / piped).read_bytes() if piped else None
            found[text] = Page(RUN.invoke(app, words, input=sent, catch_exceptions=False), results)
    return found


def test_every_command_has_an_example_that_runs() -> None:
    started = {name for name in commands() if any(one.startswith(f"leakwise {name}") for one in examples())}
    # One runs until it is stopped, the other runs programs that the reader has.
    assert set(commands()) - started == {"studio", "audit-program"}


def numbers(lines: list[str]) -> set[str]:
    words = re.sub(r"… \d+ more", "", " ".join(lines)).split()  # without the counts of what is left out
    return {word for word in words if re.fullmatch(r"[(\[]?[0-9][0-9.,:/e+-]*[%)\];]*", word)}


@pytest.mark.parametrize("text", examples())
def test_every_example_of_a_help_runs_and_nothing_breaks_at_80_and_at_60_columns(
    pages: dict[str, Page], text: str
) -> None:
    page = pages[text]
    assert page.done.exit_code == 0, page.done.output
    if "--json" in text:
        json.loads(page.done.stdout)
        return
    assert page.done.stdout.splitlines() == page.lines(80, everything=False)
    wide = numbers(page.lines(10_000, everything=True)) | numbers(page.lines(10_000, everything=False))
    for width, everything in itertools.product((80, 60), (False, True)):
        lines = page.lines(width, everything=everything)
        assert max(map(display_width, lines)) <= width
        assert numbers(lines) - wide <= numbers([line for line in lines if line.endswith("\\")])  # of commands
    short, full = page.lines(None, everything=False), page.lines(None, everything=True)
    assert not any("--all" in line for line in full)
    assert (set(full) <= set(short)) == (not any(line.startswith("More with --all: ") for line in short))
    for parts in page.results:
        rows = sum("  " in line.text for line in laid_out(parts, None))
        assert rows <= MOST_ROWS + 12  # heads and rules of tables


def test_the_guarantee_is_the_first_sentence(pages: dict[str, Page]) -> None:
    first = {text: page.done.stdout.splitlines()[0] for text, page in pages.items()}
    for text, line in first.items():
        if re.match(
            r"leakwise (audit (?!.*--table)|design (?!.*--margin)|worst-case.*lift|release|envelope.*delta)", text
        ):
            assert line.startswith(
                ("No guess about ", "For every prior of the set: No guess", "After 90 releases no guess", "{")
            ), text
    assert first["leakwise verify certificate.json"].startswith("Verified. No guess about the secret")


@pytest.mark.parametrize("name", commands())
def test_every_option_says_its_default(name: str) -> None:
    for option in commands()[name].params:
        told = "[default: " in (option.help or "")
        shown = option.default is not None and getattr(option, "show_default", False)
        assert option.required or getattr(option, "is_flag", False) or told or shown, option.opts


def test_the_default_that_is_computed_is_said_in_words() -> None:
    words = " ".join(RUN.invoke(app, ["release", "--help"]).stdout.replace("│", " ").split())
    assert "[default: ten times the lift]" in words
    assert words.count("[default: none]") > 10


def test_commands_are_grouped_by_user() -> None:
    said = RUN.invoke(app, ["--help"]).stdout
    places = [
        said.index(user) for user in ("Data stewards", "Analysts", "Privacy engineers", "Researchers", "Everyone")
    ]
    assert places == sorted(places)
    assert places[0] < said.index("│ advise") < places[1] < said.index("│ estimate") < places[2]


@pytest.mark.parametrize("width", [60, 80])
def test_an_example_of_the_help_can_be_copied(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = [line.rstrip() for line in RUN.invoke(app, ["release", "--help"]).stdout.splitlines()]
    assert max(map(len, lines)) <= width
    copied = re.sub(r"\\\n\s*", "", "\n".join(lines))
    example = "leakwise release survey.csv -c smokes --domain no,yes --lift 2 --prior no=0.8,yes=0.2"
    assert f" {example}\n" in copied


@pytest.mark.parametrize("name", commands())
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


def test_json_is_json_on_every_command(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    assert [
        name for name, command in commands().items() if not any("--json" in one.opts for one in command.params)
    ] == []
    for text in (
        "ledger budget ledger.db --dataset survey.csv --lift 9",
        "ledger export ledger.db l.csv",
        "ledger cancel ledger.db 2",
        "verify c.json",
    ):
        json.loads(RUN.invoke(app, [*shlex.split(text), "--json"], catch_exceptions=False).stdout)
