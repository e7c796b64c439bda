"""Priors to start from."""

from __future__ import annotations

from collections import Counter
from typing import Any

from leakwise.data import adult_counts
from leakwise.errors import InvalidInput

__all__ = ["examples"]

_COLUMNS = {
    "marital_status": ("Adult census: marital status", "marital status of 32,561 people in the Adult census extract"),
    "occupation": ("Adult census: occupation", "occupation of 32,561 people in the Adult census extract"),
    "income": ("Adult census: income", "yearly income of 32,561 people in the Adult census extract"),
    "sex": ("Adult census: sex", "sex of 32,561 people in the Adult census extract"),
}


def examples() -> list[dict[str, Any]]:
    """The examples of the page: a name, a sentence, and the counts; uniform ones the page makes itself.

    >>> [one["key"] for one in examples()]
    ['marital_status', 'occupation', 'income', 'sex']
    """
    found = []
    for column, (name, words) in _COLUMNS.items():
        counts = counted(column)
        found.append(
            {
                "key": column,
                "name": f"{name} ({len(counts)} values)",
                "words": f"The {words} (UCI Adult, Becker and Kohavi 1996).",
                "labels": list(counts),
                "values": [str(count) for count in counts.values()],
            }
        )
    return found


def counted(column: str) -> dict[str, int]:
    """How many rows have each value of a column, the commonest first."""
    counts: Counter[str] = Counter()
    for entry in adult_counts():
        if column not in entry:
            raise InvalidInput(f"The Adult extract has no column {column!r}.")
        counts[str(entry[column])] += entry["rows"]  # type: ignore[literal-required]
    return dict(counts.most_common())
