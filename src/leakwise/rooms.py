"""What completion offers in a module, and what is said where a module is taken for a function."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NoReturn

from leakwise.errors import LeakwiseError

__all__ = ["not_a_function", "offering"]


class RoomCalled(LeakwiseError, TypeError):
    """A module was called as if it were a function."""


class _Room(ModuleType):
    """A module that answers a call with the functions that were meant."""

    _meant: str

    def __call__(self, *_: object, **__: object) -> NoReturn:
        short = self.__name__.replace("leakwise", "lw", 1)
        raise RoomCalled(f"{short} is not a function but the module behind several. Call {self._meant}.")

    def __reduce__(self) -> tuple[Any, ...]:
        # cloudpickle knows plain modules only, and Spark sends by it what a function uses.
        return importlib.import_module, (self.__name__,)


def not_a_function(name: str, meant: str) -> None:
    """Let the module of this name answer a call with what was meant."""
    room = sys.modules[name]
    room.__class__ = _Room
    vars(room)["_meant"] = meant


def offering(names: Mapping[str, Any]) -> Callable[[], list[str]]:
    """Return the ``__dir__`` of a module: its public names, and those that Python itself gives it.

    >>> offering({"__all__": ["design"], "__doc__": "", "np": 1, "_load": 2})()
    ['__all__', '__doc__', 'design']
    """
    return lambda: sorted({*names["__all__"], *(name for name in names if name[:2] == name[-2:] == "__")})
