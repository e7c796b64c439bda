"""Probabilities and counts as a user may give them, as exact integers with labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, Label
from leakwise.errors import InvalidInput, some_of
from leakwise.exact import exact_fraction, floats_over_power_of_two, over_common_denominator

__all__ = ["exact_values", "refuse_negative", "values_and_alphabet", "whole_numbers"]


def values_and_alphabet(
    given: Mapping[Any, Any] | Iterable[Any], labels: Iterable[Label] | None, name: str
) -> tuple[list[Any], Alphabet]:
    """Return the numbers of a list or a mapping, and the letters they belong to."""
    if hasattr(given, "keys") and hasattr(given, "items"):  # a pandas Series is a mapping in all but name
        if labels is not None:
            raise InvalidInput(f"labels must not be given with a mapping: the keys of {name} are the labels.")
        pairs = list(given.items())  # not a dict: a Series may hold a label twice, which must not go unnoticed
        return [value for _, value in pairs], Alphabet([label for label, _ in pairs])
    if isinstance(given, (str, bytes, set, frozenset)) or not isinstance(given, Iterable):
        raise InvalidInput(f"{name} must be a list of numbers or a mapping from labels. Got {given!r} instead.")
    # NumPy and pyarrow give plain numbers by themselves.
    to_list = getattr(given, "tolist", None) if getattr(given, "ndim", 1) == 1 else None
    values: list[Any] = list(given) if to_list is None else to_list()
    if not values:
        raise InvalidInput(f"{name} must hold at least one number. Got none.")
    alphabet = Alphabet.numbered(len(values)) if labels is None else Alphabet(labels)
    if len(alphabet) != len(values):
        raise InvalidInput(f"labels must be as many as {name}. Got {len(alphabet)} labels for {len(values)} numbers.")
    return values, alphabet


def exact_values(values: list[Any], alphabet: Alphabet, what: str) -> tuple[list[int], int]:
    """Return numbers of any kind as integers over their least common denominator."""
    kinds = set(map(type, values))
    if kinds == {int}:
        return values, 1
    if kinds == {float} and all(map(math.isfinite, values)):
        return floats_over_power_of_two(np.array(values))
    return over_common_denominator(
        [exact_fraction(value, f"the {what} of {label!r}") for value, label in zip(values, alphabet, strict=True)]
    )


def refuse_negative(numerators: Sequence[int], alphabet: Alphabet, name: str) -> None:
    """Refuse negative numbers, by the labels they belong to."""
    negative = [label for label, value in zip(alphabet, numerators, strict=True) if value < 0]
    if negative:
        raise InvalidInput(f"{name} must not be negative. Those of {some_of(negative)} are.")


def whole_numbers(values: list[Any], alphabet: Alphabet, name: str) -> list[int]:
    """Whole numbers, one for each letter, none negative and not all zero: what a prior can be proportional to."""
    if len(values) != len(alphabet):
        raise InvalidInput(f"{name} must be as many as the labels. Got {len(values)} for {len(alphabet)} labels.")
    numerators, denominator = exact_values(values, alphabet, name.removesuffix("s"))
    refuse_negative(numerators, alphabet, name)
    if denominator != 1:  # the least common one, so that some number is broken
        broken = [label for label, value in zip(alphabet, numerators, strict=True) if value % denominator]
        raise InvalidInput(f"{name} must be whole numbers. Those of {some_of(broken)} are not.")
    if not any(numerators):
        raise InvalidInput(f"{name} must not all be zero: no letter could occur.")
    return numerators
