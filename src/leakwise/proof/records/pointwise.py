"""The proof that no answer tells more about a record than so much, to anyone of bounded min-entropy.

The claim: for every prior on datasets with p(x) ≤ e^{-b}, every record i, value a and outcome y,

    P(y | X_i = a) ≤ R P(y).

For S = P(X_i = a) the left side is largest, and P(y) least, when the S goes to the datasets of a that cause y most
often and the rest to those that cause it least, each up to e^{-b}. So with A(S) and B(1 - S) for the two greedy fills
the claim is A ≤ R S (A + B) for all S. Between two points where a class is full both fills are linear and the
difference of the sides is a quadratic in S: it is checked at both ends and at its vertex, in whole numbers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import msgspec

from leakwise.documents import read_document, write_document, write_fraction
from leakwise.errors import CertificateRejected, InvalidInput
from leakwise.exact import exp_upper, float_above, log_upper
from leakwise.guarantee import at_most
from leakwise.proof.records.classes import (
    ClassesBody,
    RecordClasses,
    check_classes,
    classes_from_body,
    classes_to_body,
    read_claim,
)
from leakwise.proof.shown import ShownCertificate

__all__ = ["FORMAT", "PointwiseRecordCertificate", "load_pointwise_record_certificate"]

FORMAT = "leakwise.pointwise-records"
VERSION = 1
_LESS = 1 - Fraction(1, 1 << 30)  # what is shown as the largest lift is so near it at least
_BITS = 192  # of e^{-b}, relative to the uniform belief


class PointwiseBody(msgspec.Struct, forbid_unknown_fields=True):
    """The claim and the classes it is about, as integers."""

    about: str
    outcomes: list[str]
    min_entropy: list[str]
    ratio: list[str]
    case: int
    letter: int
    outcome: int
    cases: list[ClassesBody]


@dataclass(frozen=True, repr=False, eq=False)
class PointwiseRecordCertificate(ShownCertificate):
    """A proof that no answer makes a guess about a record more than ``ratio`` times as likely.

    It holds for every adversary who thinks no dataset more probable than e^{-min_entropy}. What is checked starts from
    the classes of datasets; that the query and its mechanism have these classes is not.

    Attributes
    ----------
    about
        The mechanism and the query, in words.
    cases
        The classes of every record, alike ones once.
    outcomes
        What the outcomes are called.
    min_entropy
        b, in nats, exact.
    ratio
        The lift that is not exceeded, exact.
    case, letter, outcome
        Where it is largest: places among ``cases``, the values of the record, and ``outcomes``.
    """

    about: str
    cases: tuple[RecordClasses, ...]
    outcomes: tuple[str, ...]
    min_entropy: Fraction
    ratio: Fraction
    case: int
    letter: int
    outcome: int

    @property
    def epsilon_upper(self) -> float:
        """The proven leakage in nats, rounded up."""
        return log_upper(max(self.ratio, Fraction(1)))

    @property
    def sentence(self) -> str:
        """The guarantee in words."""
        return (
            f"No answer makes a guess about a record more than {at_most(self.ratio)} times as likely, for anyone whose "
            f"min-entropy about the dataset is at least {at_most(float_above(self.min_entropy), 6)} nats."
        )

    def verify(self) -> PointwiseRecordCertificate:
        """Check the claim from the integers; raise CertificateRejected when it is not proven."""
        if self.min_entropy < 0 or self.ratio < 1:
            raise CertificateRejected("A min-entropy is at least 0 and a lift at least 1.")
        check_classes(self.cases, len(self.outcomes))
        for place, case in enumerate(self.cases):
            sizes, one = _capacities(case, self.min_entropy)
            for y, outcome in enumerate(self.outcomes):
                for a, value in enumerate(case.values):
                    sides = _sides(case, a, y, sizes)
                    if not _within(self.ratio, *sides, one):
                        raise CertificateRejected(
                            f"The outcome {outcome!r} can make the value {value!r} of record {case.records[0]} more "
                            f"than {at_most(self.ratio, 12)} times as likely. Do not rely on the certificate."
                        )
                    shown = (place, a, y) == (self.case, self.letter, self.outcome)
                    if shown and self.ratio * _LESS > 1 and _within(self.ratio * _LESS, *sides, one):
                        raise CertificateRejected(
                            f"The certificate shows the largest lift at the outcome {outcome!r} for the value "
                            f"{value!r} of record {case.records[0]}; it is not reached there."
                        )
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate, with the classes it is about."""
        body = PointwiseBody(
            self.about,
            list(self.outcomes),
            write_fraction(self.min_entropy),
            write_fraction(self.ratio),
            self.case,
            self.letter,
            self.outcome,
            [classes_to_body(case) for case in self.cases],
        )
        write_document(path, FORMAT, VERSION, body)

    def _rows(self) -> list[list[str]]:
        worst = self.cases[self.case]
        return [
            ["about", self.about],
            ["adversary's min-entropy, at least", f"{at_most(float_above(self.min_entropy), 6)} nats"],
            ["proven ε (nats, rounded up)", at_most(self.epsilon_upper, 6)],
            ["largest lift e^ε", at_most(self.ratio)],
            ["reached at outcome", self.outcomes[self.outcome]],
            ["by value", f"{worst.values[self.letter]} of record {worst.records[0]}"],
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the claim."""
        return {
            "about": self.about,
            "min_entropy": float_above(self.min_entropy),
            "epsilon_upper": self.epsilon_upper,
            "lift": float_above(self.ratio),
            "outcome": self.outcomes[self.outcome],
            "letter": self.cases[self.case].values[self.letter],
            "record": self.cases[self.case].records[0],
            "sentence": self.sentence,
        }


def load_pointwise_record_certificate(path: str | os.PathLike[str]) -> PointwiseRecordCertificate:
    """Read a certificate as it stands, unchecked; its ``verify`` checks it."""
    name = str(path)
    body = read_document(path, FORMAT, VERSION, PointwiseBody)
    cases = tuple(classes_from_body(case, name) for case in body.cases)
    places = ((body.case, len(cases)), (body.outcome, len(body.outcomes)))
    if not all(0 <= place < size for place, size in places) or not 0 <= body.letter < len(cases[body.case].values):
        raise InvalidInput(f"{name!r} is not a valid certificate: the place of its worst outcome is off.")
    if not all(case.records for case in cases):
        raise InvalidInput(f"{name!r} is not a valid certificate: classes without a record.")
    ratio, b = read_claim(body.ratio, name), read_claim(body.min_entropy, name)
    return PointwiseRecordCertificate(
        body.about, cases, tuple(body.outcomes), b, ratio, body.case, body.letter, body.outcome
    )


# ------------------------------------------------------------------------------------------ the check itself

Step = tuple[int, int]  # the chance of the outcome, and how much mass has it


def _capacities(case: RecordClasses, b: Fraction) -> tuple[list[int], int]:
    """The most mass of each class, rounded up, in units of which ``one`` make 1."""
    bits = _BITS + case.total.bit_length() + max(0, b.denominator.bit_length() - b.numerator.bit_length())
    each = exp_upper(-b, bits)
    if each * case.total <= 1:
        return list(case.datasets), case.total  # the uniform prior alone
    return [m * each.numerator for m in case.datasets], each.denominator


def _sides(case: RecordClasses, letter: int, outcome: int, sizes: Sequence[int]) -> tuple[list[Step], list[Step]]:
    """The classes of the value, largest chance first, and all others, least chance first; in whole numbers."""
    chances = [Fraction(row[outcome]) for row in case.rows]
    scale = max(r.denominator for r in chances)  # powers of two
    steps = [(int(r * scale), c) for r, c in zip(chances, sizes, strict=True)]
    own = [step for step, a in zip(steps, case.letter, strict=True) if a == letter]
    rest = [step for step, a in zip(steps, case.letter, strict=True) if a != letter]
    return sorted(own, reverse=True), sorted(rest)


def _within(ratio: Fraction, own: list[Step], rest: list[Step], one: int) -> bool:
    """Whether A ≤ R S (A + B) for every S."""
    up, down = ratio.numerator, ratio.denominator * one
    # A is at most S times the largest chance, and nobody gives the outcome less than the fill of all classes together.
    least = sum(r * c for r, c in _taken(sorted(own + rest), one)[0])
    if down * own[0][0] <= up * least:
        return True
    for start, length, a, both, slope, rise in _segments(own, rest, one):
        # In x = S - start: ψ(x) = down (a + slope x) - up (start + x)(both + rise x), at 0, at the end, at its vertex.
        first = down * a - up * start * both
        linear = down * slope - up * (both + start * rise)
        bend = up * rise
        if first > 0 or first + linear * length - bend * length * length > 0:
            return False
        if bend > 0 and 0 < linear < 2 * bend * length and 4 * bend * first + linear * linear > 0:
            return False
    return True


def _segments(own: list[Step], rest: list[Step], one: int) -> Iterator[tuple[int, int, int, int, int, int]]:
    """Pieces of S on which both fills are linear: start, length, A and A + B there, and how fast each grows."""
    at, end = max(0, one - sum(c for _, c in rest)), min(one, sum(c for _, c in own))
    inside, filling = _taken(own, at)
    emptying = _taken(rest, one - at)[0]
    a, b = (sum(r * c for r, c in part) for part in (inside, emptying))
    filling.reverse()
    if at == end:
        yield at, 0, a, a + b, 0, 0
    while at < end:
        # The next class to be filled, and the last one that was filled, which is emptied first.
        (slope, room), (fall, left) = filling.pop(), emptying.pop()
        length = min(end - at, room, left)
        yield at, length, a, a + b, slope, slope - fall
        filling += [(slope, room - length)] if room > length else []
        emptying += [(fall, left - length)] if left > length else []
        at, a, b = at + length, a + slope * length, b - fall * length


def _taken(steps: list[Step], mass: int) -> tuple[list[Step], list[Step]]:
    """What a mass takes of the steps in their order, and what is left of them."""
    taken, left = [], []
    for chance, size in steps:
        now = min(size, mass)
        mass -= now
        taken += [(chance, now)] if now else []
        left += [(chance, size - now)] if size > now else []
    return taken, left
