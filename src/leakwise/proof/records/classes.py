"""One record against all others, as certificates store it: classes of datasets with the same chances of outcomes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import msgspec

from leakwise.documents import read_fraction, read_integer, write_integer
from leakwise.errors import CertificateRejected, InvalidInput

__all__ = [
    "ClassesBody",
    "RecordClasses",
    "check_classes",
    "classes_from_body",
    "classes_to_body",
    "read_claim",
]

_ROW_SUM = Fraction(1, 10**9)
# Numbers of more bits than a dataset of a million records needs, which a forged file may not ask to compute with.
_MOST_BITS = 1 << 22
_MOST_DIGITS = 1 << 13


class ClassesBody(msgspec.Struct, forbid_unknown_fields=True):
    """Classes by their places: the value of the record, how many datasets of the others, the chance of each outcome."""

    records: list[int]
    values: list[str]
    letter: list[int]
    datasets: list[str]
    rows: list[list[str]]  # floats in hexadecimal, exact


@dataclass(frozen=True)
class RecordClasses:
    """The datasets, grouped by the value of one record and by equal chances of every outcome.

    Attributes
    ----------
    records
        The records it is about: those that are alike have the same classes.
    values
        What the values of the record are called.
    letter
        The value of the record in each class, by its place, in order.
    datasets
        How many datasets of the other records are in each class, exact.
    rows
        The probability of each outcome in each class; a float means its exact binary value.
    """

    records: tuple[int, ...]
    values: tuple[str, ...]
    letter: tuple[int, ...]
    datasets: tuple[int, ...]
    rows: tuple[tuple[float, ...], ...]

    @property
    def total(self) -> int:
        """How many datasets there are."""
        return sum(self.datasets)


def check_classes(cases: Sequence[RecordClasses], outcomes: int) -> None:
    """Raise CertificateRejected unless these can be the records of one dataset under one mechanism."""
    every = [record for case in cases for record in case.records]
    if not cases or sorted(every) != list(range(len(every))):
        raise CertificateRejected("The certificate must name every record once, numbered from 0.")
    for case in cases:
        others: Counter[int] = Counter()
        for letter, datasets in zip(case.letter, case.datasets, strict=True):
            others[letter] += datasets
        if set(others) != set(range(len(case.values))) or min(case.datasets) < 1 or len(set(others.values())) != 1:
            raise CertificateRejected(
                f"The classes of record {case.records[0]} do not hold equally many datasets of the others for each of "
                "its values."
            )
        for row in case.rows:
            if len(row) != outcomes or not all(math.isfinite(p) and p >= 0 for p in row):
                raise CertificateRejected(f"A class must have {outcomes} probabilities, one for each outcome.")
            if abs(sum(map(Fraction, row), Fraction(0)) - 1) > _ROW_SUM:
                raise CertificateRejected(f"The probabilities of a class sum to {sum(row):.12g}, and not to 1.")
    if len({case.total for case in cases}) > 1:
        raise CertificateRejected("The records of the certificate are of datasets of different number.")


def classes_to_body(case: RecordClasses) -> ClassesBody:
    """Return the classes as they are stored."""
    return ClassesBody(
        list(case.records),
        list(case.values),
        list(case.letter),
        [write_integer(m) for m in case.datasets],
        [[p.hex() for p in row] for row in case.rows],
    )


def classes_from_body(body: ClassesBody, name: str) -> RecordClasses:
    """Read the classes back."""
    if not (len(body.letter) == len(body.datasets) == len(body.rows) > 0) or body.letter != sorted(body.letter):
        raise InvalidInput(f"{name!r} is not a valid certificate: the classes of a record are not in order.")
    try:
        rows = tuple(tuple(float.fromhex(p) for p in row) for row in body.rows)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(f"{name!r} is not a valid certificate: a probability in it is not a number.") from error
    datasets = tuple(read_integer(m, name) for m in body.datasets)
    if sum(datasets).bit_length() > _MOST_BITS:
        raise InvalidInput(f"{name!r} is not a valid certificate: its datasets are more than 2^{_MOST_BITS:,}.")
    return RecordClasses(tuple(body.records), tuple(body.values), tuple(body.letter), datasets, rows)


def read_claim(pair: list[str], name: str) -> Fraction:
    """Return a fraction of a claim; a number of far more digits than any result has is refused."""
    if max(map(len, pair), default=0) > _MOST_DIGITS:
        raise InvalidInput(
            f"{name!r} is not a valid certificate: a number in it has more than {_MOST_DIGITS:,} digits."
        )
    return read_fraction(pair, name)
