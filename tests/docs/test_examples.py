"""Every example of the README and the documentation is run, in the order a reader meets it.

A ``python`` block is a doctest session; the blocks of a file share their names and an empty working
directory. Of a ``console`` block the lines that start with ``$ leakwise`` are run; they must not fail.
"""

from __future__ import annotations

import doctest
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from leakwise.cli import app
from ray_start import patient

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(?P<kind>python|console)[ \t]*\n(?P<body>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

# At least so many examples are run: a fence that is misspelt or lost does not go unnoticed.
MINIMUM = {
    "README.md": 6,
    "docs/explanation/exactness.md": 9,
    "docs/explanation/guarantee.md": 9,
    "docs/explanation/pictures.md": 19,
    "docs/explanation/pml-and-dp.md": 25,
    "docs/explanation/post-processing.md": 15,
    "docs/explanation/records.md": 18,
    "docs/explanation/several-releases.md": 9,
    "docs/explanation/the-idea.md": 20,
    "docs/how-to/aggregates.md": 20,
    "docs/how-to/analyse.md": 22,
    "docs/how-to/audit.md": 27,
    "docs/how-to/choose-a-limit.md": 7,
    "docs/how-to/choose-a-prior.md": 30,
    "docs/how-to/compare.md": 15,
    "docs/how-to/continuous-secrets.md": 21,
    "docs/how-to/databases.md": 15,
    "docs/how-to/design.md": 36,
    "docs/how-to/engines.md": 30,
    "docs/how-to/files.md": 26,
    "docs/how-to/ledger.md": 10,
    "docs/how-to/scikit-learn.md": 24,
    "docs/how-to/other-libraries.md": 21,
    "docs/how-to/spark.md": 24,
    "docs/how-to/several-secrets.md": 18,
    "docs/how-to/strata.md": 22,
    "docs/how-to/test-your-code.md": 12,
    "docs/how-to/where-the-answer-is-given.md": 17,
    "docs/how-to/worst-case.md": 25,
    "docs/reference/catalogue.md": 7,
    "docs/research/errata.md": 3,
    "docs/research/papers.md": 4,
    "docs/research/tour.md": 20,
    "docs/start/estimate.md": 12,
    "docs/start/first-table.md": 12,
    "docs/start/install.md": 3,
}


@dataclass(frozen=True)
class Block:
    kind: str
    body: str
    line: int

    @property
    def commands(self) -> list[str]:
        return [line[2:] for line in self.body.splitlines() if line.startswith("$ leakwise")]

    @property
    def examples(self) -> list[doctest.Example]:
        found = doctest.DocTestParser().get_examples(self.body)
        for example in found:
            example.lineno += self.line
        return found


def documents() -> list[str]:
    pages = (page.relative_to(ROOT) for page in (ROOT / "docs").rglob("*.md"))
    return ["README.md", *sorted(page.as_posix() for page in pages if "_build" not in page.parts)]


def blocks(name: str) -> Iterator[Block]:
    text = (ROOT / name).read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        yield Block(match["kind"], match["body"], text.count("\n", 0, match.start("body")))


def run_command(command: str) -> None:
    """In this process: a new one would load everything again, and tests/cli starts some."""
    done = CliRunner().invoke(app, shlex.split(command)[1:], prog_name="leakwise")
    assert done.exit_code == 0, f"$ {command}\n{done.output}{done.exception!r}"


def spark_folder(otherwise: Path) -> Path:
    """Where the Spark of other tests was started, if it was: it takes relative paths from there, not from here."""
    from pyspark import SparkContext

    java = SparkContext._jvm
    return otherwise if java is None else Path(java.java.lang.System.getProperty("user.dir"))


@pytest.mark.parametrize("name", documents())
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(spark_folder(tmp_path) if name == "docs/how-to/spark.md" else tmp_path)
    if name == "docs/how-to/engines.md":
        import ray

        monkeypatch.setattr(ray, "init", patient(ray.init))
    names: dict[str, object] = {"__name__": "__main__"}
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    said: list[str] = []
    ran = 0
    for block in blocks(name):
        if block.kind == "console":
            for command in block.commands:
                run_command(command)
            continue
        examples = block.examples
        assert examples, f"{name}, line {block.line}: a python block without >>> is an example nobody runs"
        session = doctest.DocTest(examples, names, name, name, 0, block.body)
        runner.run(session, out=said.append, clear_globs=False)
        names = session.globs
        ran += len(examples)
    assert runner.failures == 0, "".join(said)
    assert ran >= MINIMUM.get(name, 0), f"{name} has {ran} examples; {MINIMUM.get(name, 0)} are expected"


def test_minimum_names_existing_files() -> None:
    assert set(MINIMUM) <= set(documents())


def test_no_example_hides_from_the_runner() -> None:
    """Prompts stand only inside blocks that are collected above."""
    for name in documents():
        prompts = len(re.findall(r"^\s*>>> ", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE))
        assert prompts == sum(len(block.examples) for block in blocks(name) if block.kind == "python"), name
