"""Proofs of what a count or a histogram of many records tells about one of them, checked for any number of records.

The claim: m independent records are unknown, each has value x with probability at least ``least[x]``, and whatever is
done to the noisy count, the probability of a leakage above log t about a record is at most δ. It is proven value by
value. For value x, let A be the event that the outcome speaks for x with a lift above t. Then for every s < t

    P(A) (t - s)  ≤  P(A|x) - s P(A)  ≤  H_x(s)  =  Σ_y max(0, P(y|x) - s P(y)),

so that Σ_x H_x(s_x)/(t - s_x) ≤ δ proves the claim, over the values whose largest lift T_x is above t.

- *One threshold.* For a count of the records with value x, the sum of the others plus the noise is log-concave, so
  that P(y|x)/P(y) rises with y, and H(s) = max_k P(Y≥k|x) - s P(Y≥k). With F(k) = P(S_{m-1} + Z ≥ k) the two are
  F(k-1) and πF(k-1) + (1-π)F(k). The maximum is at k or k+1 if the terms below k are negative and those above k are
  positive.
- *The largest lift* is in the tail, T = 1/(π + (1-π)α), with α² for a histogram, where a record moves two cells.
- *A histogram* with noise is a histogram without, post-processed; there, what speaks for x is the count of x.
- *Rarer is worse.* H(s)/(t-s), at its best s, falls as π grows: moving π changes P(Y≥k|x) by (m-1) Q_{m-2}(k-2) and
  P(Y≥k) by m Q_{m-1}(k-1), and their ratio is at most the lift of the next outcome k-1, because the mean of S_{m-1}
  given S_{m-1} + Z = k-1 is at most that of S_m given S_m + Z = k-1. So the least probability stands for all above.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import msgspec

from leakwise.documents import read_document, read_integer, write_document, write_integer
from leakwise.errors import CertificateRejected, InvalidInput
from leakwise.exact import as_typed, float_above, float_below, log_upper, noisy_binomial_tails
from leakwise.guarantee import at_least, at_most, except_with, no_guess
from leakwise.proof.shown import ShownCertificate

__all__ = ["AggregateCertificate", "Mark", "load_aggregate_certificate", "record_guarantee"]

FORMAT = "leakwise.aggregate"
VERSION = 1
_KINDS = ("count", "histogram")
_MOST_PIECES = 64
_SHOWN = 5  # probabilities in a sentence
# What a forged file may not ask for: sums of more terms, numbers of more bits, and probabilities of more zeros.
_MOST_RECORDS = 10**9
_MOST_BITS = 1 << 18
_MOST_NATS = 2.0e6

Mark = tuple[Fraction, int]
"""The number s < t of a value, and the outcome at which P(y|x) - s P(y) changes its sign."""


class AggregateBody(msgspec.Struct, forbid_unknown_fields=True):
    """The claim and the marks, as integers."""

    kind: str
    unknown: str
    ratio: list[str]
    pieces: list[list[list[str]]]
    marks: list[list[list[str]]]
    lift: list[str]
    delta: list[str]


@dataclass(frozen=True, repr=False, eq=False)
class AggregateCertificate(ShownCertificate):
    """A proof that a count or a histogram tells at most log(lift) about one record, except with probability delta.

    Attributes
    ----------
    kind
        ``"count"`` (values 1 and 0) or ``"histogram"``.
    unknown
        The records that the adversary does not know, with the one that it is after.
    ratio
        α of the two-sided geometric noise on the count, or on every cell; 0 is no noise.
    pieces
        The priors of the claim: the least probability of every value, 1 before 0 for a count. A count whose prior is
        only known to be in an interval may have several neighbouring pieces, which cover it.
    marks
        For each piece and value the number s and the outcome of its change of sign.
    lift, delta
        The claim.
    """

    kind: str
    unknown: int
    ratio: Fraction
    pieces: tuple[tuple[Fraction, ...], ...]
    marks: tuple[tuple[Mark, ...], ...]
    lift: Fraction
    delta: Fraction

    @property
    def epsilon_upper(self) -> float:
        """The proven leakage in nats, rounded up."""
        return log_upper(max(self.lift, Fraction(1)))

    @property
    def sentence(self) -> str:
        """The guarantee in words."""
        least, knew = self.least, "the prior"
        if sum(least) < 1 and self.kind == "count":
            low, high = at_least(as_typed(least[0])), at_most(as_typed(1 - least[1]))
            knew = f"the prior, a probability from {low} to {high},"
        elif sum(least) < 1:
            knew = f"the prior, with probabilities of at least {self._least_words},"
        return record_guarantee(self.lift, self.kind, self.unknown, self.delta, knew)

    @property
    def _least_words(self) -> str:
        words = ", ".join(at_least(as_typed(chance)) for chance in self.least[:_SHOWN])
        return words + (f" and {len(self.least) - _SHOWN} more" if len(self.least) > _SHOWN else "")

    def bound(self) -> Fraction:
        """Return the probability of a larger leakage that the marks prove, for the worst piece."""
        return max(self._of_piece(*pair) for pair in zip(self.pieces, self.marks, strict=True))

    def _of_piece(self, least: tuple[Fraction, ...], marks: tuple[Mark, ...]) -> Fraction:
        steps, noise = (1, self.ratio) if self.kind == "count" else (2, Fraction(0))
        single = sum(least) == 1  # one prior: a value of probability 0 is outside its support
        total = Fraction(0)
        for chance, (slope, place) in zip(least, marks, strict=True):
            bottom = chance + (1 - chance) * self.ratio**steps
            if (single and not chance) or self.lift * bottom >= 1:
                continue
            if not 0 <= slope < self.lift:
                raise CertificateRejected("A mark must lie between 0 and the lift. Compute the leakage again.")
            total += _above(self.unknown, chance, noise, slope, place) / (self.lift - slope)
        return min(total, Fraction(1))

    @property
    def least(self) -> tuple[Fraction, ...]:
        """The least probability of every value, 1 before 0 for a count, over all pieces."""
        if self.kind == "count":
            return self.pieces[0][0], self.pieces[-1][1]
        return self.pieces[0]

    def verify(self) -> AggregateCertificate:
        """Compute the claim again; raise CertificateRejected when it is not proven."""
        self._check_form()
        found = self.bound()
        if found > self.delta:
            raise CertificateRejected(
                f"The marks prove a probability of {float(found):.12g} for a leakage above the limit, more than the "
                f"{float(self.delta):.12g} claimed. Do not rely on it; compute the leakage again."
            )
        return self

    def _check_form(self) -> None:
        wrong = None
        if self.kind not in _KINDS or not 1 <= self.unknown <= _MOST_RECORDS or not 0 <= self.ratio < 1:
            wrong = f"It must be about a count or a histogram of 1 to {_MOST_RECORDS:,} records, with noise below 1."
        elif self.lift < 1 or not 0 <= self.delta < 1:
            wrong = f"It claims a lift of {at_most(self.lift)} and a probability of {at_most(self.delta)}."
        elif not 1 <= len(self.pieces) <= _MOST_PIECES or len(self.marks) != len(self.pieces):
            wrong = "It must have a mark for every value of every prior."
        elif any(
            len(piece) < 2 or len(piece) != len(marks) or min(piece) < 0 or sum(piece) > 1
            for piece, marks in zip(self.pieces, self.marks, strict=True)
        ):
            wrong = "A prior has at least two values, a mark for each, and probabilities that sum to at most 1."
        elif self.kind == "histogram" and len(self.pieces) > 1:
            wrong = "The prior of a histogram is one piece."
        elif self.kind == "count" and (
            any(len(piece) != 2 for piece in self.pieces)
            or any(1 - left[1] != right[0] for left, right in zip(self.pieces[:-1], self.pieces[1:], strict=True))
        ):
            wrong = "The pieces of the prior of a count must be neighbours, without a gap between them."
        if wrong:
            raise CertificateRejected(f"The certificate does not say what it must say. {wrong}")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate; it is complete in itself, and short for any number of records."""
        body = AggregateBody(
            self.kind,
            write_integer(self.unknown),
            _written(self.ratio),
            [[_written(chance) for chance in piece] for piece in self.pieces],
            [[[*_written(slope), write_integer(place)] for slope, place in marks] for marks in self.marks],
            _written(self.lift),
            _written(self.delta),
        )
        write_document(path, FORMAT, VERSION, body)

    def _rows(self) -> list[list[str]]:
        return [
            ["release", f"{self.kind} of independent records"],
            ["unknown records", f"{self.unknown:,}"],
            ["probability of each value, at least", self._least_words],
            ["noise ratio α (0 is no noise)", at_most(self.ratio, 6)],
            ["leakage ε (nats, rounded up)", at_most(self.epsilon_upper, 6)],
            ["lift e^ε", at_most(self.lift, 6)],
            ["except with probability δ", at_most(as_typed(self.delta), 6)],
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the claim."""
        return {
            "kind": self.kind,
            "unknown": self.unknown,
            "ratio": float_above(self.ratio),
            "epsilon_upper": self.epsilon_upper,
            "lift": float_above(self.lift),
            "delta": float_above(self.delta),
            "pieces": len(self.pieces),
            "least": [float_below(chance) for chance in self.least],
            "sentence": self.sentence,
        }


def record_guarantee(lift: object, kind: str, unknown: int, delta: Fraction, knew: str = "the prior") -> str:
    """Return what a release of many records guarantees for one of them, in words.

    >>> print(record_guarantee(2, "count", 10, Fraction(1, 100)))
    No guess about a record becomes more than 2 times as likely whatever is done to the count, for anyone who knew the \
prior and all but 10 of the records (records independent), except with probability at most 0.01.
    """
    known = "every other record" if unknown == 1 else f"all but {unknown:,} of the records"
    return no_guess(
        lift,
        f"for anyone who knew {knew} and {known} (records independent)",
        seeing=f"whatever is done to the {kind}",
        unless=f", {except_with(as_typed(delta))}" if delta else "",
        about="a record",
    )


def load_aggregate_certificate(path: str | os.PathLike[str]) -> AggregateCertificate:
    """Read a certificate of an aggregate as it is, unchecked; its ``verify`` checks it."""
    name = str(path)
    body = read_document(path, FORMAT, VERSION, AggregateBody)
    for row in [body.ratio, body.lift, body.delta, *(cell for piece in body.pieces for cell in piece)]:
        if len(row) != 2:
            raise InvalidInput(f"{name!r} is not a valid certificate: a number in it is not a fraction.")
    if any(len(mark) != 3 for marks in body.marks for mark in marks):
        raise InvalidInput(f"{name!r} is not a valid certificate: a mark is a fraction and an outcome.")
    return AggregateCertificate(
        body.kind,
        read_integer(body.unknown, name),
        _read(body.ratio, name),
        tuple(tuple(_read(chance, name) for chance in piece) for piece in body.pieces),
        tuple(tuple((_read(mark[:2], name), read_integer(mark[2], name)) for mark in marks) for marks in body.marks),
        _read(body.lift, name),
        _read(body.delta, name),
    )


def _written(value: Fraction) -> list[str]:
    return [write_integer(value.numerator), write_integer(value.denominator)]


def _read(pair: list[str], name: str) -> Fraction:
    above, below = (read_integer(text, name) for text in pair)
    if not below:
        raise InvalidInput(f"{name!r} is not a valid certificate: a number in it is not a fraction.")
    if max(above.bit_length(), below.bit_length()) > _MOST_BITS:
        raise InvalidInput(f"{name!r} is not a valid certificate: a number in it has more than {_MOST_BITS:,} bits.")
    return Fraction(above, below)


# ------------------------------------------------------------------------------------------ the check itself


def _above(unknown: int, chance: Fraction, ratio: Fraction, slope: Fraction, place: int) -> Fraction:
    """An upper bound on H(s) = Σ_y max(0, P(y|x) - s P(y)) of a count, whose terms change their sign at ``place``."""
    if not 0 <= place <= unknown:
        raise CertificateRejected(f"A mark names the outcome {place}, and there are {unknown} unknown records.")
    if not chance and not ratio:
        return Fraction(1)  # outcome 1 tells the value outright, and the others have no sign: they never occur
    own, other = 1 - slope * chance, slope * (1 - chance)
    if own < 0:  # the slope is above every lift: no outcome counts
        return Fraction(0)
    if _rarity(unknown - 1, chance, ratio, min(place + 2, unknown)) > _MOST_NATS:
        raise CertificateRejected(f"A mark names the outcome {place}, which is too rare for its probability to matter.")
    tails = noisy_binomial_tails(unknown - 1, chance, ratio, range(max(place - 2, 0), min(place + 2, unknown) + 1))

    def parts(k: int) -> tuple[Fraction, Fraction]:
        """Both sides of P(Y≥k|x) - s P(Y≥k)."""
        if k <= 0:
            return 1 - slope, 1 - slope
        if k > unknown:
            return Fraction(0), Fraction(0)
        (near_low, near_high), (far_low, far_high) = tails[k - 1], tails[k]
        return own * near_low - other * far_high, own * near_high - other * far_low

    falls = place == 0 or parts(place - 1)[1] <= parts(place)[0]  # outcomes below speak for less than s
    rises = place >= unknown or parts(place + 2)[1] <= parts(place + 1)[0]  # and those above for more
    if not (falls and rises):
        raise CertificateRejected(
            f"The sign does not change at the outcome {place}, as a mark says. Compute the leakage again."
        )
    return max(Fraction(0), parts(place)[1], parts(place + 1)[1])


def _rarity(trials: int, chance: Fraction, ratio: Fraction, place: int) -> float:
    """About -log P(S + Z ≥ place) in nats, or more: by the records alone (Chernoff's exponent) or the noise alone."""
    beyond = place - trials * chance
    if beyond <= 0:
        return 0.0
    by_noise = float(beyond) * -_log(ratio) if ratio else math.inf
    share = Fraction(place, trials) if place < trials else Fraction(1)
    rest = (trials - place) * (_log(1 - share) - _log(1 - chance)) if share < 1 else 0.0
    by_records = min(place, trials) * (_log(share) - _log(chance)) + rest if chance else math.inf
    return min(by_noise, by_records)


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)
