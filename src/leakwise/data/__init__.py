"""A real table to try things on: the Adult census extract, carried as counts.

The project holds no person's row. It holds how many rows share each combination of four columns and builds a
table of the same size and the same joint frequencies from these figures.
"""

from __future__ import annotations

import csv
import random
from importlib import resources
from typing import TypedDict

from leakwise.errors import InvalidInput

__all__ = ["AdultCount", "adult_counts", "adult_table"]


class AdultCount(TypedDict):
    """One combination of values and the number of rows that have it."""

    sex: str
    marital_status: str
    occupation: str
    income: str
    rows: int


def adult_counts() -> list[AdultCount]:
    """The counts of the Adult training part: one entry per combination that occurs, 32,561 rows in all.

    Columns are ``sex``, ``marital_status``, ``occupation`` and ``income``; ``rows`` says how many rows of the UCI Adult
    extract (Becker & Kohavi, 1996) have that combination. An unknown occupation is ``"?"``.

    Examples
    --------
    >>> counts = adult_counts()
    >>> len(counts), sum(entry["rows"] for entry in counts)
    (307, 32561)
    >>> counts[0]["marital_status"], counts[0]["rows"]
    ('Divorced', 116)
    """
    text = resources.files(__name__).joinpath("adult_counts.csv").read_text(encoding="utf-8")
    return [
        AdultCount(
            sex=line["sex"],
            marital_status=line["marital_status"],
            occupation=line["occupation"],
            income=line["income"],
            rows=int(line["rows"]),
        )
        for line in csv.DictReader(text.splitlines())
    ]


def adult_table(shuffle_seed: int | None = 0) -> dict[str, list[str]]:
    """The 32,561-row table with exactly the frequencies of :func:`adult_counts`, as columns of strings.

    Parameters
    ----------
    shuffle_seed
        The rows come in an order fixed by this integer, the same on every machine and Python version. ``None`` leaves
        equal rows side by side in the order of the counts. The order carries no information about the census file,
        whose own order is not stored.

    Examples
    --------
    >>> table = adult_table()
    >>> list(table)
    ['sex', 'marital_status', 'occupation', 'income']
    >>> len(table["sex"]), table["sex"].count("Female")
    (32561, 10771)
    """
    if shuffle_seed is not None and (isinstance(shuffle_seed, bool) or not isinstance(shuffle_seed, int)):
        raise InvalidInput(
            f"The 'shuffle_seed' parameter of adult_table must be an integer or None. Got {shuffle_seed!r} "
            "instead. Give any integer, or None for the unshuffled order."
        )
    rows = [
        (entry["sex"], entry["marital_status"], entry["occupation"], entry["income"])
        for entry in adult_counts()
        for _ in range(entry["rows"])
    ]
    if shuffle_seed is not None:
        # random() is the one stream that Python promises to keep between versions; shuffle() is not.
        draw = random.Random(shuffle_seed).random
        keys = [draw() for _ in rows]
        rows = [rows[i] for i in sorted(range(len(rows)), key=keys.__getitem__)]
    sex, marital_status, occupation, income = (list(column) for column in zip(*rows, strict=True))
    return {"sex": sex, "marital_status": marital_status, "occupation": occupation, "income": income}
