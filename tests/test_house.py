"""What holds for the house as a whole: light to import, tidy, typed, and free of any one machine."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib import resources
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "leakwise"

HEAVY = [
    "altair",
    "cryptography",
    "duckdb",
    "formulaic",
    "highspy",
    "pandas",
    "polars",
    "pyarrow",
    "pyreadstat",
    "pyspark",
    "scipy",
    "sklearn",
    "starlette",
    "statsmodels",
    "uvicorn",
    "vl_convert",
]


def test_import_loads_nothing_heavy() -> None:
    script = "import json, sys, leakwise; print(json.dumps(sorted({m.partition('.')[0] for m in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert "leakwise" in loaded
    assert loaded.isdisjoint(HEAVY), sorted(loaded.intersection(HEAVY))


@pytest.mark.parametrize("name", sorted(HEAVY))
def test_heavy_names_are_real_modules(name: str) -> None:
    """A misspelt name would make the test above pass for the wrong reason."""
    assert importlib.util.find_spec(name) is not None


def test_public_names_are_sorted_and_there() -> None:
    leakwise = importlib.import_module("leakwise")
    names = list(leakwise.__all__)
    assert names == sorted(names)
    assert len(set(names)) == len(names)
    assert [name for name in names if not hasattr(leakwise, name)] == []
    assert set(names) <= set(dir(leakwise))


def test_types_are_shipped() -> None:
    assert resources.files("leakwise").joinpath("py.typed").is_file()


def test_modules_stay_small() -> None:
    lengths = {
        str(p.relative_to(SOURCE)): len(p.read_text(encoding="utf-8").splitlines()) for p in SOURCE.rglob("*.py")
    }
    assert len(lengths) > 5
    assert {name: n for name, n in lengths.items() if n > 400} == {}


def folders(*rooms: str) -> list[Path]:
    """The folders of the rooms (all without names) that hold modules."""
    found = [folder for folder in [SOURCE, *SOURCE.rglob("*")] if any(folder.glob("*.py"))]
    return [f for f in found if not rooms or f.relative_to(SOURCE).parts[:1] in [(room,) for room in rooms]]


def test_no_folder_is_a_heap() -> None:
    rooms = folders("cli", "optimize", "leakage", "records", "tables")
    assert len(rooms) > 12
    heaps = {str(f.relative_to(SOURCE)): len(list(f.glob("*.py"))) - 1 for f in rooms}  # but for its __init__
    assert {name: modules for name, modules in heaps.items() if modules > 15} == {}


def test_every_folder_says_what_it_holds() -> None:
    silent = [
        str(folder.relative_to(SOURCE))
        for folder in folders()
        if not (folder / "__init__.py").is_file()
        or not ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    ]
    assert silent == []


@pytest.mark.parametrize("room", ["cli", "leakage", "optimize", "priors", "records", "tables"])
def test_tests_mirror_the_folders_of_a_room(room: str) -> None:
    """A test that fails names the folder that it is about."""
    steps = {folder.name for folder in (SOURCE / room).iterdir() if any(folder.glob("*.py"))}
    tested = {folder.name for folder in (ROOT / "tests" / room).iterdir() if any(folder.rglob("test_*.py"))}
    assert steps
    assert tested == steps


def test_every_room_above_the_checker_may_use_only_its_public_names() -> None:
    """The contract that lint-imports enforces names its rooms one by one: none may be missing."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    contracts = {contract["id"]: contract for contract in told}
    layers = [re.findall(r"\w+", line) for line in contracts["one-way"]["layers"]]
    above = [room for line in layers[: layers.index(["proof"])] for room in line if room != "__main__"]
    assert contracts["finder"]["source_modules"] == [f"leakwise.{room}" for room in sorted(above)]
    assert contracts["finder"]["forbidden_modules"] == ["leakwise.proof.*"]
    assert {"leakwise.leakage", "leakwise.optimize"} <= set(contracts["checker"]["forbidden_modules"])
    lent = set(importlib.import_module("leakwise.proof").__all__)
    files = [p for room in above for p in [*SOURCE.glob(f"{room}.py"), *SOURCE.glob(f"{room}/**/*.py")]]
    found = "\n".join(p.read_text(encoding="utf-8") for p in files)
    taken = re.findall(r"^\s*from leakwise\.proof import (.+)$", found, re.MULTILINE)
    assert taken
    assert {name.split(" as ")[0].strip() for line in taken for name in line.split(",")} <= lent
    assert not re.search(r"import leakwise\.proof|from leakwise import .*proof", found)


# ------------------------------------------------------------------------------- no machine in the tree

UNTRACKED = {".git", ".venv", "build", "dist", "_build", "__pycache__", "demo-output", "papers-output"}
PLACE = re.compile(r"(?<![\w.~$}-])/(?:root|work|home|tmp|Users)/")
HOST = re.compile(r"(?:pypi|pythonhosted|npmjs|anaconda)\.(?:org|com)|(?:simple|index)[_-]?url", re.IGNORECASE)
PIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.+!]+")


def tree() -> list[Path]:
    """The files of the project: what git tracks or would track; without git, all but what is made."""
    try:
        listing = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=True
        ).stdout.decode()
        files = [ROOT / name for name in listing.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        files = []
        for folder, inner, names in os.walk(ROOT):
            inner[:] = [d for d in inner if d not in UNTRACKED and not d.endswith("_cache")]
            files += [Path(folder, name) for name in names]
    return [file for file in files if file.is_file()]


def test_no_path_of_a_machine_and_no_registry_in_the_tree() -> None:
    files = tree()
    assert ROOT / "pyproject.toml" in files
    found = []
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # an image holds no address
        for number, line in enumerate(text.splitlines(), 1):
            if PLACE.search(line) or HOST.search(line):
                found.append(f"{file.relative_to(ROOT)}:{number}: {line.strip()[:120]}")
    assert found == []


@pytest.mark.parametrize(
    "line", ["see /ro" + "ot/x", "--find-links=/wo" + "rk/y", "https://py" + "pi.org/simple", "(/tm" + "p/z)"]
)
def test_the_search_for_machine_traces_would_find_one(line: str) -> None:
    assert PLACE.search(line) or HOST.search(line)


def test_lock_holds_names_and_versions_only() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert [line for line in pins if not PIN.fullmatch(line)] == []
    names = {line.partition("==")[0].lower().replace("_", "-") for line in pins}
    assert len(names) == len(pins)
    assert {"numpy", "scipy", "highspy", "python-flint", "msgspec", "cryptography", "typer", "rich"} <= names
    assert "leakwise" not in names


@pytest.mark.parametrize("name", [".ci/run", "scripts/check", "scripts/find-python", "scripts/lock"])
def test_scripts_can_be_run(name: str) -> None:
    assert os.access(ROOT / name, os.X_OK)


HALVING = re.compile(r"\((?P<a>\w+), (?P<b>\w+)\) if .+ else \((?!(?P=b), (?P=a)\))(?:\w+, (?P=a)|(?P=b), \w+)\)")


def test_there_is_one_bisection() -> None:
    """``last_that_holds`` says which side of the truth its answer is on; a loop of one's own need not."""
    assert HALVING.search("low, high = (middle, high) if holds(middle) else (low, middle)")
    assert HALVING.search("low, high = (low, middle) if holds(middle) else (middle, high)")
    assert not HALVING.search("main, other = (leaks, cost) if primal else (cost, leaks)")
    found = [str(p.relative_to(SOURCE)) for p in SOURCE.rglob("*.py") if HALVING.search(p.read_text(encoding="utf-8"))]
    assert [name for name in found if not name.startswith("optimize/")] == ["exact/bisection.py"]


def test_arrays_have_the_names_of_the_types_module() -> None:
    named = re.findall(r"= (npt\.NDArray\[.+\])$", (SOURCE / "types.py").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(named) > 5
    spelled = re.compile("|".join(re.escape(name).replace(r"npt\.", r"(?<!\w)(?:npt\.)?") for name in named))
    found = {str(p.relative_to(SOURCE)) for p in SOURCE.rglob("*.py") if spelled.search(p.read_text(encoding="utf-8"))}
    assert {name for name in found if not name.startswith("optimize/")} == {"types.py"}


def test_files_are_written_in_one_place() -> None:
    """Whole or not at all: only the atomic writer opens a file to write, and Spark in a draft folder of its own."""
    writes = re.compile(r"\.write_(text|bytes)\(|open\([^)]*[\"'][wax]b?\+?[\"']|NamedTemporaryFile|mkstemp")
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if any(writes.search(line) for line in path.read_text(encoding="utf-8").splitlines())
    }
    assert found <= {"documents/atomic.py", "spark/folders.py"}
    assert "documents/atomic.py" in found


def test_what_tests_share_is_made_by_one_worker() -> None:
    """A worker takes a scope at once: a file with its fixtures, and all of Spark, which takes long to start."""
    scope_of = importlib.import_module("conftest").scope_of
    page = "tests/docs/test_examples.py::test_examples_run[docs/how-to/{}.md]"
    spark = ["tests/spark/test_once.py::test_a", page.format("spark")]
    assert {scope_of(test) for test in spark} == {"spark"}
    assert scope_of("tests/lp/test_program.py::test_a") == scope_of("tests/lp/test_program.py::test_b[x::y]")
    assert scope_of("tests/lp/test_program.py::test_a") != scope_of("tests/lp/test_scaling.py::test_a")
    assert scope_of(page.format("files")) != scope_of(page.format("databases"))


def test_what_takes_long_begins_early() -> None:
    turn_of = importlib.import_module("conftest").turn_of
    files = ["tests/spark/a.py::a", "tests/browser/a.py::a", "tests/lp/a.py::a", "src/leakwise/lp/program.py::a"]
    assert [turn_of(test) for test in files] == sorted({turn_of(test) for test in files})
    root = Path(__file__).parents[1]
    assert all((root / folder).is_dir() for folder in importlib.import_module("conftest").LONG)
