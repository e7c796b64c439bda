"""From what the page sent to priors, levels, utilities and mechanisms of the library."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from leakwise.alphabet import Label
from leakwise.errors import InvalidInput
from leakwise.exact import exact_fraction
from leakwise.mechanism import Mechanism
from leakwise.priors import Prior, PriorSet
from leakwise.studio.state import Catalog, DesignGoal, Distance, Level, Matrix, Named, PriorState, State, WorstCaseGoal

__all__ = [
    "VALUE_LIMITS",
    "are_numbers",
    "further_arguments",
    "label",
    "level_arguments",
    "limit_arguments",
    "matrix_entries",
    "number",
    "read_catalog",
    "read_mechanism",
    "read_nominal",
    "read_prior",
    "read_utility",
    "utility_matrix",
]

# Limits of single values, by what the library calls them.
VALUE_LIMITS = {"lift_of": "The largest lift", "ceiling": "The ceiling", "floor": "The least lift"}

_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)", re.ASCII)
# A number as a person writes it. The library takes more (an exponent of ten thousand, for one), nobody types it.
_NUMBER = re.compile(r"[+-]?(\d+([.]\d*)?|[.]\d+)(e[+-]?\d{1,3})?|[+-]?\d+/\d+", re.ASCII | re.IGNORECASE)


def label(text: str) -> Label:
    """A label as typed: a whole number where it reads as one, as on the command line."""
    word = text.strip()
    return int(word) if _WHOLE.fullmatch(word) else word


def number(text: str, name: str) -> Fraction:
    """The exact number that a text says.

    >>> number("0.1", "p"), number(" 1/3 ", "p")
    (Fraction(1, 10), Fraction(1, 3))
    """
    word = text.strip()
    if not _NUMBER.fullmatch(word):
        what = f"Got {text!r} instead." if word else "It is empty."
        raise InvalidInput(f"{name} must be a number such as 0.25, 12 or 1/4. {what}")
    return exact_fraction(word, name)


# --------------------------------------------------------------------------------------------------------- priors


def read_nominal(state: PriorState) -> Prior:
    """The prior itself, without the set that a sample makes of it."""
    if len(state.labels) != len(state.values):
        raise InvalidInput(f"The prior has {len(state.labels)} labels and {len(state.values)} numbers.")
    empty = [place for place, text in enumerate(state.labels, 1) if not text.strip()]
    if empty:
        raise InvalidInput(f"The label in row {empty[0]} of the prior is empty. Name every value of the secret.")
    labels = [label(text) for text in state.labels]
    values = [
        number(text, f"The number of {text_of!r}") for text, text_of in zip(state.values, state.labels, strict=True)
    ]
    if state.kind == "counts":
        return Prior.from_counts(values, labels=labels)
    return Prior(values, labels=labels)


def read_prior(state: PriorState) -> PriorSet:
    """The prior, or the set of priors that its sample leaves possible."""
    known = read_nominal(state)
    if state.sample is None:
        return known
    failure = number(state.sample.failure, "The failure probability")
    if not 0 < failure < 1:
        raise InvalidInput(
            f"The failure probability must be strictly between 0 and 1, such as 1e-6. Got {state.sample.failure!r}."
        )
    if state.kind == "probabilities":
        known = _of_samples(known, state.sample.size)
    return known.confidence(failure, state.sample.method)


def _of_samples(prior: Prior, size: int | None) -> Prior:
    """Probabilities as the frequencies of a sample of this size; those that no sample of it can have are refused."""
    if size is None:
        raise InvalidInput("The sample size is missing: say from how many rows the probabilities were estimated.")
    for name, share in zip(prior.labels, prior.fractions, strict=True):
        if (share * size).denominator != 1:
            raise InvalidInput(
                f"{float(share):g} of a sample of {size:,} is no whole number of rows (for {name!r}: "
                f"{float(share * size):.6g}). Type the counts themselves, or the size that the probabilities come from."
            )
    counts = [int(share * size) for share in prior.fractions]
    return Prior.from_counts(counts, labels=list(prior.labels))


# ---------------------------------------------------------------------------------------------------------- goals


def level_arguments(level: Level) -> dict[str, Any]:
    """``epsilon=`` or ``lift=`` for the functions of the library."""
    return {level.kind: number(level.value, "ε" if level.kind == "epsilon" else "The factor")}


def limit_arguments(state: State) -> dict[str, Any]:
    """Every limit of a design for the functions of the library: the lift, and with it the further ones."""
    return level_arguments(state.level) | further_arguments(state)


def further_arguments(state: State) -> dict[str, Any]:
    """The limits for anyone and of single values.

    Worst-case answers rule values out, and go without them; so does a mechanism that is only looked at.
    """
    goal = state.goal
    if not isinstance(goal, DesignGoal) or isinstance(goal.utility, WorstCaseGoal):
        return {}
    asked: dict[str, Any] = {}
    if state.anyone is not None:
        asked["anyone"] = number(state.anyone, "The limit for anyone")
    for name, words in VALUE_LIMITS.items():
        typed = {label(one.value): getattr(one, name) for one in state.values if getattr(one, name).strip()}
        if typed:
            asked[name] = {value: number(text, f"{words} of {value}") for value, text in typed.items()}
    return asked


def read_utility(utility: Named | Distance | WorstCaseGoal, prior: Prior) -> Any:
    """The utility as an object of the library, or its name."""
    if isinstance(utility, Named) and utility.name != "reading":
        return utility.name
    from leakwise.optimize import Expected, WorstCase

    if isinstance(utility, Named):
        from leakwise.optimize.problem.kept_frequencies import kept_frequencies

        return kept_frequencies("guessing", None, None)

    if isinstance(utility, Distance):
        return Expected(utility_matrix(utility, prior))
    values = utility_matrix(utility, prior)
    outputs = None if utility.outputs is None else [label(text) for text in utility.outputs]
    then: Any = None if utility.then == "nothing" else utility.then
    if then == "expected":
        then = Expected(values, outputs)
    return WorstCase(values, utility.by, then, outputs)


def utility_matrix(utility: Distance | WorstCaseGoal, prior: Prior) -> Any:
    """What each answer (column) is worth for each value (row)."""
    from leakwise.optimize import distance_utility, ordered_utility

    if isinstance(utility, Distance):
        if are_numbers(prior.labels):
            return distance_utility([int(str(name)) for name in prior.labels], power=utility.power)
        return ordered_utility(list(prior.labels), power=utility.power)
    _one_length(utility.matrix, "The utility matrix")
    if len(utility.matrix) != len(prior):
        raise InvalidInput(
            f"The utility matrix has {len(utility.matrix)} rows for the {len(prior)} values of the secret."
        )
    return [
        [_worth(cell, f"The worth in row {i}, column {j}") for j, cell in enumerate(row, 1)]
        for i, row in enumerate(utility.matrix, 1)
    ]


def are_numbers(labels: Sequence[Label]) -> bool:
    """Whether every label is a whole number, so that distances between labels mean something."""
    return all(isinstance(name, int) for name in labels)


def _worth(text: str, name: str) -> float:
    if text.strip().lower() in ("never", "-inf"):
        return float("-inf")
    return float(number(text, name))


def _one_length(rows: Sequence[Sequence[str]], name: str) -> None:
    lengths = sorted({len(row) for row in rows})
    if len(lengths) > 1:
        raise InvalidInput(
            f"{name} must have rows of one length. Got rows of {lengths[0]} and of {lengths[-1]} numbers."
        )


# ----------------------------------------------------------------------------------------------------- mechanisms

_PARAMETERS = {
    "randomized_response": ("epsilon", "lift", "flip"),
    "symmetric_channel": ("flip",),
    "truncated_geometric": ("epsilon", "lift"),
    "k_singular": ("k",),
    "identity": ("none",),
    "constant": ("none",),
}


def read_mechanism(source: Catalog | Matrix, prior: Prior) -> Mechanism:
    """The mechanism that the person brought, over the values of the prior."""
    if isinstance(source, Catalog):
        return read_catalog(source, prior)
    _one_length(source.rows, "The matrix")
    if len(source.rows) != len(prior):
        raise InvalidInput(f"The matrix has {len(source.rows)} rows for the {len(prior)} values of the secret.")
    outputs = None if source.outputs is None else [label(text) for text in source.outputs]
    return Mechanism(matrix_entries(source), inputs=list(prior.labels), outputs=outputs)


def matrix_entries(source: Matrix) -> list[list[Any]]:
    """The entries as they stand where every row sums to exactly 1, else as floats, which may miss 1 by 1e-9."""
    rows = [
        [number(cell, f"The entry in row {i}, column {j}") for j, cell in enumerate(row, 1)]
        for i, row in enumerate(source.rows, 1)
    ]
    if all(sum(row) == 1 for row in rows):
        return rows
    return [[float(value) for value in row] for row in rows]


def read_catalog(source: Catalog, prior: Prior) -> Mechanism:
    """A named mechanism over the values of the prior."""
    from leakwise import mechanism

    allowed = _PARAMETERS[source.name]
    if source.parameter not in allowed:
        words = source.name.replace("_", " ")
        takes = "no parameter" if allowed == ("none",) else " or ".join(allowed)
        raise InvalidInput(f"{words} takes {takes}. Got {source.parameter!r} instead.")
    make = getattr(mechanism, source.name)
    if source.parameter == "none":
        return make(list(prior.labels))  # type: ignore[no-any-return]
    value: Any = number(source.value, source.parameter)
    if source.parameter == "k":
        if value.denominator != 1:
            raise InvalidInput(f"k must be a whole number. Got {source.value!r} instead.")
        value = int(value)
    return make(list(prior.labels), **{source.parameter: value})  # type: ignore[no-any-return]
