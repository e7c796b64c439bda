"""Families: mechanisms that depend on an ε, brought to a leakage or to a utility by bisection."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leakwise.alphabet import Alphabet
from leakwise.errors import InvalidInput, did_you_mean
from leakwise.exact import last_that_holds
from leakwise.mechanism import Mechanism, catalog

__all__ = ["SETS", "Family", "Reached", "at_leakage", "at_utility", "family_names", "read_mechanisms", "usual_families"]

_LARGEST = 32.0  # e^32 is beyond every lift that anyone asks for, and within 2^60
_CLOSE = 1e-7  # of an ε that is found
_ORDERED = ("geometric", "staircase", "truncated_geometric")  # for values in an order, which nobody has said there is
_MANY = 300  # values, beyond which what is worked out for each size of a set takes minutes
SETS = ("optimized_unary_encoding", "subset_selection", "symmetric_unary_encoding")
_LOOKS = (0.25, 0.5, 0.75, 1.5, 2.0, 3.0)
_SAME = 1e-9  # of a leakage: roundings are below it


@dataclass(frozen=True)
class Family:
    """A mechanism for every ε."""

    name: str
    make: Callable[[float], Any]

    def __call__(self, epsilon: float) -> Mechanism:
        """Return the mechanism at an ε of the family."""
        try:
            made = self.make(epsilon)
        except InvalidInput as error:
            raise InvalidInput(f"mechanisms[{self.name!r}] at epsilon={epsilon:g}: {error}") from error
        if not isinstance(made, Mechanism):
            raise InvalidInput(
                f"mechanisms[{self.name!r}] must give a lw.Mechanism for every epsilon. Got {type(made).__name__} at "
                f"epsilon={epsilon:g}."
            )
        return made


@dataclass(frozen=True)
class Reached:
    """The mechanism of a family that was looked for, its ε of the family, and what has to be said of it."""

    mechanism: Mechanism
    parameter: float
    remark: str | None = None


# --------------------------------------------------------------------------------------------------- what is given


def family_names() -> dict[str, Callable[..., Mechanism]]:
    """Return the mechanisms of the catalog that need values and an ε, and nothing else."""
    return {name: make for name in catalog.__all__ if _is_family(make := getattr(catalog, name))}


def usual_families(size: int) -> list[str]:
    """Return the families that are compared where none are named, for so many values."""
    left_out = _ORDERED if size <= _MANY else (*_ORDERED, *SETS)
    return [name for name in family_names() if name not in left_out]


def _is_family(make: Callable[..., Any]) -> bool:
    """Whether the first two arguments are values and ε, and all others may be left out."""
    names = list(inspect.signature(make).parameters.values())
    needed = [one.name for one in names if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
    return [one.name for one in names[:2]] == ["letters", "epsilon"] and needed == ["letters"]


def read_mechanisms(given: Any, letters: Alphabet) -> dict[str, Mechanism | Family]:
    """Return what is compared by name: a mapping, a sequence, or a single one; None for all that the catalog has."""
    if given is None:
        given = usual_families(len(letters))
    if isinstance(given, str | Mechanism) or callable(given):
        given = [given]
    if not isinstance(given, Mapping):
        if not isinstance(given, Sequence):
            raise InvalidInput(
                "mechanisms must map names to mechanisms or functions of ε, or list names of the catalog. Got "
                f"{type(given).__name__} instead."
            )
        names = [_name(one, place) for place, one in enumerate(given, 1)]
        if twice := {name for name in names if names.count(name) > 1}:
            raise InvalidInput(f"mechanisms names {min(twice)!r} twice. Give a mapping from names of your own.")
        given = dict(zip(names, given, strict=True))
    return {str(name): _read(str(name), one, letters) for name, one in given.items()}


def _name(one: Any, place: int) -> str:
    named = one if isinstance(one, str) else getattr(one, "__name__", "<lambda>")
    return f"mechanism {place}" if named == "<lambda>" else named.replace("-", "_")


def _read(name: str, one: Any, letters: Alphabet) -> Mechanism | Family:
    if isinstance(one, Mechanism):
        return one
    if isinstance(one, str):
        known = family_names()
        key = one.replace("-", "_")
        if key not in known:
            raise InvalidInput(
                f"mechanisms names {one!r}, which is not a mechanism of the catalog that takes values and ε "
                f"alone. Those are {', '.join(known)}; for any other give a function of ε.{did_you_mean(key, known)}"
            )
        one = known[key]
    if not callable(one):
        raise InvalidInput(
            f"mechanisms[{name!r}] must be a lw.Mechanism, a name of the catalog, or a function of ε. Got "
            f"{type(one).__name__} instead."
        )
    make = one
    if _takes_letters(make):
        return Family(name, lambda epsilon: make(letters, epsilon))
    return Family(name, make)


def _takes_letters(make: Callable[..., Any]) -> bool:
    """Whether a function is called with values and ε, as those of the catalog are; else with ε alone."""
    try:
        names = list(inspect.signature(make).parameters)
    except (TypeError, ValueError):
        return False
    return len(names) > 1 and names[1] == "epsilon"


# ---------------------------------------------------------------------------------------------- what is looked for


def at_leakage(family: Family, leakage: Callable[[Mechanism], float], limit: float, start: float) -> Reached:
    """Return the mechanism of the largest ε whose leakage was seen to be at most the limit.

    ``start`` is where to begin: an ε that keeps the limit, if that of the family is local differential privacy.
    """
    seen: dict[float, tuple[float, Mechanism]] = {}

    def holds(epsilon: float) -> bool:
        made = family(epsilon)
        seen[epsilon] = leakage(made), made
        return seen[epsilon][0] <= limit

    high = min(start, _LARGEST)
    if not holds(high):
        low = 0.0
        if not holds(low):
            raise InvalidInput(
                f"mechanisms[{family.name!r}] leaks more than the limit at epsilon=0 already: "
                f"{seen[low][0]:.4g} nats, and {limit:.4g} are allowed. Give a larger limit, or leave it out."
            )
    else:
        low = high
        while high < _LARGEST and seen[low][0] < limit * (1 - _SAME):
            high = min(2 * high + _CLOSE, _LARGEST)
            if not holds(high):
                break
            low = high
    found = low if low == high else last_that_holds(holds, low, high, 60, within=_CLOSE)
    if found not in seen:
        holds(found)
    for share in _LOOKS:  # whether the leakage grows, below and beyond
        holds(min(share * found, _LARGEST))
    mechanism = seen[found][1]
    if _falls([seen[one][0] for one in sorted(seen)]):
        return Reached(mechanism, found, "leaks less at some larger ε: another one may keep the limit too")
    return Reached(mechanism, found)


def at_utility(family: Family, worth: Callable[[Mechanism], float], value: float) -> Reached | None:
    """Return the mechanism of the least ε whose utility was seen to be at least the value; None where none is."""
    seen: dict[float, tuple[float, Mechanism]] = {}

    def holds(epsilon: float) -> bool:
        made = family(epsilon)
        seen[epsilon] = worth(made), made
        return seen[epsilon][0] >= value

    low, high = 0.0, 1.0
    while not holds(high):
        if high >= _LARGEST:
            return None
        low, high = high, min(2 * high, _LARGEST)
    found = 0.0 if low == 0.0 and holds(low) else last_that_holds(holds, high, low, 60, within=_CLOSE)
    mechanism = seen[found][1]
    if _falls([seen[one][0] for one in sorted(seen)]):
        return Reached(mechanism, found, "is worth less at some larger ε: a smaller one may do too")
    return Reached(mechanism, found)


def _falls(values: Sequence[float]) -> bool:
    """Whether values that should grow fall somewhere, by more than roundings."""
    return any(
        after < before - _SAME * max(1.0, abs(before))
        for before, after in itertools.pairwise(values)
        if math.isfinite(before)
    )
