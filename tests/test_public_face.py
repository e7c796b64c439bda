"""The public face: few names, loaded when they are first used, with editors and old names served."""

from __future__ import annotations

import ast
import importlib
import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import cloudpickle
import pytest

import leakwise as lw

FACE = Path(lw.__file__)


def declared() -> dict[str, str]:
    """The names that the ``if TYPE_CHECKING`` block declares, each with the module it comes from."""
    block = next(node for node in ast.parse(FACE.read_text(encoding="utf-8")).body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    assert all(alias.asname == alias.name for node in imports for alias in node.names), "an export needs 'as'"
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def test_the_names_are_few_and_sorted() -> None:
    assert list(lw.__all__) == sorted(lw.__all__)
    assert len(lw.__all__) <= 80


ROOMS = ["aggregate", "catalog", "measures", "noise", "papers", "records", "results", "sklearn", "spark"]


def test_completion_offers_the_names_and_nothing_else() -> None:
    """Also once rooms are loaded, which Python enters among the names of the package."""
    for name in (*lw.__all__, "leakage", "mechanism", "optimize"):
        getattr(lw, name)
    assert [name for name in dir(lw) if not name.startswith("__")] == list(lw.__all__)
    assert {"__version__", "__doc__", "__all__"} <= set(dir(lw))


@pytest.mark.parametrize("room", ROOMS)
def test_completion_in_a_room_offers_its_names_and_nothing_else(room: str) -> None:
    module = getattr(lw, room)
    assert room in dir(lw)
    assert [name for name in dir(module) if not name.startswith("__")] == sorted(module.__all__)
    assert not callable(module)  # completion would offer it as a function


@pytest.mark.parametrize(
    ("room", "meant"),
    [
        ("leakage", ["epsilon", "audit", "pml"]),
        ("mechanism", ["Mechanism", "randomized_response"]),
        ("optimize", ["design", "tradeoff"]),
    ],
)
def test_a_room_that_is_called_names_the_functions_that_were_meant(room: str, meant: list[str]) -> None:
    module = getattr(lw, room)
    with pytest.raises(TypeError, match=rf"^lw\.{room} is not a function") as raised:
        module(lw.identity(2), prior=[0.5, 0.5])
    assert isinstance(raised.value, lw.LeakwiseError)
    assert all(f"lw.{name}" in str(raised.value) and name in lw.__all__ for name in meant)
    # It stays a module in every other respect: those who send code to other machines pickle what it uses.
    assert inspect.ismodule(module)
    assert pickle.loads(pickle.dumps(module)) is module
    assert pickle.loads(cloudpickle.dumps(module)) is module
    assert repr(module).startswith(f"<module 'leakwise.{room}'")


def test_what_editors_read_is_what_is_loaded() -> None:
    places = declared()
    assert sorted(places) == list(lw.__all__)
    for name, place in places.items():
        if place == "leakwise":
            assert getattr(lw, name) is importlib.import_module(f"leakwise.{name}")
        else:
            assert lw._PLACE_OF[name] == place
            assert getattr(lw, name) is getattr(importlib.import_module(place), name)


@pytest.mark.parametrize("name", sorted(lw._MOVED_TO))
def test_a_name_of_version_0_1_works_and_says_where_it_is_now(name: str) -> None:
    place, new = lw._MOVED_TO[name]
    with pytest.warns(DeprecationWarning, match=rf"lw\.{name} is now {place.replace('leakwise', 'lw')}\.{new};"):
        found = getattr(lw, name)
    assert found is getattr(importlib.import_module(place), new)
    assert name not in lw.__all__
    assert new in importlib.import_module(place).__all__


@pytest.mark.parametrize("room", ["measures", "results"])
def test_the_less_common_names_are_in_rooms_of_their_own(room: str) -> None:
    module = importlib.import_module(f"leakwise.{room}")
    assert list(module.__all__) == sorted(module.__all__)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
    assert set(module.__all__).isdisjoint(lw.__all__)


def test_a_misspelt_name_is_answered_with_the_right_one() -> None:
    with pytest.raises(AttributeError, match=r"'desing'.*design"):
        lw.desing  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("name", ["measures.extreme_columns", "catalog.subset_selection", "results.ExactOptimum"])
def test_a_name_that_is_one_room_further_says_so(name):
    with pytest.raises(AttributeError, match=rf"It is lw\.{name}\."):
        getattr(lw, name.split(".")[1])


def test_importing_loads_neither_numpy_nor_a_room() -> None:
    script = "import sys, leakwise; print(*(m for m in sys.modules if m == 'numpy' or m.startswith('leakwise')))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["leakwise"]


def test_the_version_is_printed_without_loading_a_command() -> None:
    script = (
        "import sys; from leakwise.cli.app import app\n"
        "try: app(['--version'])\n"
        "except SystemExit: pass\n"
        "print(*(m for m in sys.modules if m == 'numpy' or m.startswith('leakwise')))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    version, loaded = done.stdout.splitlines()
    assert version == f"leakwise {lw.__version__}"
    assert set(loaded.split()) == {"leakwise", "leakwise.cli", "leakwise.cli.app", "leakwise.errors"}
