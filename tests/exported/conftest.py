"""What the tests of samplers share: node, a database with pgcrypto, and mechanisms of every kind."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from postgres_server import Database, Server, running_server

Node = Callable[..., Any]


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """Run lines of a program after the module ``sampler.mjs`` is loaded as ``sampler``; what it returns comes back."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not here: apt-get install nodejs")

    def run(source: str, lines: str, *, before: str = "") -> Any:
        (tmp_path / "sampler.mjs").write_text(source, encoding="ascii")
        script = (
            'import fs from "node:fs"; import { webcrypto } from "node:crypto";\n'
            "globalThis.crypto ??= webcrypto;  // node 18 has it, and not under the name that browsers have\n"
            f'{before}; const sampler = await import("./sampler.mjs");\n'
            f"const run = () => {{ {lines} }};\nprocess.stdout.write(JSON.stringify(run()));"
        )
        (tmp_path / "run.mjs").write_text(script, encoding="utf-8")
        done = subprocess.run([program, "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with running_server() as found:
        found.ask("CREATE DATABASE answers")
        yield found


@pytest.fixture
def answers(server: Server) -> Database:
    """A database with nothing in it but pgcrypto."""
    found = Database(server, "answers").emptied()
    found.ask("CREATE EXTENSION pgcrypto")
    return found


@pytest.fixture
def psql(answers: Database) -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Run a script as a steward does, up to its first error."""
    program = shutil.which("psql")
    assert program is not None

    def run(script: str) -> subprocess.CompletedProcess[str]:
        words = [program, "-X", "-q", "-t", "-v", "ON_ERROR_STOP=1", "-f", "-", answers.uri]
        return subprocess.run(words, input=script, capture_output=True, text=True, check=False)

    return run


@pytest.fixture
def install(psql: Callable[[str], subprocess.CompletedProcess[str]]) -> Callable[[str], str]:
    """Run a script, and return what goes wrong."""
    return lambda script: psql(script).stderr
