"""A given matrix (PRAM) beside the best mechanism that keeps the frequencies and leaks no more."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.errors import InvalidInput
from leakwise.guarantee import at_least, at_most
from leakwise.leakage import frequency_shift
from leakwise.leakage.measures.differential import ldp_ratio
from leakwise.mechanism import Mechanism
from leakwise.mechanism.mechanism import align_prior
from leakwise.optimize.design import design
from leakwise.optimize.design_result import Design
from leakwise.optimize.problem.labelled_utilities import Expected
from leakwise.priors import Prior, as_prior
from leakwise.proof import Certificate, certify

__all__ = ["InvariantComparison", "best_invariant"]

_KEPT = 1e-9  # matrices from files are rounded: a shift below this is theirs
_SHOWN = 1e-6  # shares that are as near as this are the same in the digits of a sentence


@dataclass(frozen=True, repr=False)
class InvariantComparison(Drawn):
    """A matrix, and the best one with the frequencies kept at the same leakage.

    Attributes
    ----------
    mechanism, certificate
        What was given, and the proof of what it leaks.
    agreement, shift
        The share of rows that keep their value with it, and the largest difference between the probability of an
        outcome and that of its value (0 for invariant PRAM).
    design
        The best mechanism that keeps the frequencies within the same lift (and the same lift for any prior, where that
        is bounded), with its upper bound and certificate. Its value is the share of rows that keep their value.
    """

    mechanism: Mechanism
    certificate: Certificate
    agreement: float
    shift: float
    design: Design

    @property
    def better(self) -> bool:
        """Whether the design keeps more rows, or keeps frequencies that the given matrix changes."""
        return self.shift > _KEPT or self.design.value > self.agreement + _KEPT

    @property
    def sentence(self) -> str:
        """The comparison in words."""
        leakage = f"leaks no more (lift {at_most(self.certificate.largest_lift)})"
        if self.shift <= _KEPT and self._most - self.agreement <= _SHOWN:
            return (
                f"This matrix keeps {_percent(self.agreement, 4)}% of the values: among the mechanisms that keep the "
                f"frequencies, it keeps as many as any that {leakage}."
            )
        if not self.better:
            return (
                f"No mechanism that keeps the frequencies and {leakage} keeps more than "
                f"{at_most(100 * _as_written(self._most), 6)}% of the values; this one keeps "
                f"{_percent(self.agreement, 6)}%."
            )
        digits = 4 if _percent(self.design.value, 4) != _percent(self.agreement, 4) else 6
        theirs, ours = _percent(self.agreement, digits), _percent(self.design.value, digits)
        changes = (
            ""
            if self.shift <= _KEPT
            else f", and changes frequencies by up to {at_most(100 * self.shift, 3)} percentage points"
        )
        return (
            f"This matrix keeps {theirs}% of the values{changes}. The best mechanism that keeps the frequencies and "
            f"{leakage} keeps {ours}%."
        )

    def _shown(self) -> Parts:
        rows = [
            ["rows that keep their value", at_least(self.agreement, 4), at_least(self.design.value, 4)],
            ["no mechanism with the frequencies kept has more than", "", at_most(self._most, 4)],
            ["largest lift", self.certificate.printed_lift, self.design.certificate.printed_lift],
            ["largest change of a frequency", at_most(self.shift, 2), at_most(self._kept, 2)],
        ]
        return [Table(["", "given", "best with frequencies kept"], rows, self.sentence), self.design.mechanism]

    @property
    def _most(self) -> float:
        """The largest share that any mechanism keeps: the bound, whose roundings may lead beyond all rows."""
        return min(1.0, self.design.bound)

    @property
    def _kept(self) -> float:
        return frequency_shift(self.design.mechanism, self.design.prior.nominal)

    def chart(self) -> dict[str, Any]:
        """Return the picture of the better mechanism: what each of its outcomes raises and lowers."""
        return self.design.chart()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "sentence": self.sentence,
            "better": self.better,
            "agreement": self.agreement,
            "shift": self.shift,
            "certificate": self.certificate.to_dict(),
            "design": self.design.to_dict(),
        }


def _as_written(share: float) -> Fraction:
    """The decimal that a float reads as: a hundred times 0.57 is 57, and not a little less."""
    return Fraction(repr(float(share)))


def _percent(share: float, digits: int) -> str:
    """A share that is reached, in percent, rounded down."""
    return at_least(100 * _as_written(share), digits)


def best_invariant(mechanism: Mechanism, prior: Any, *, time_limit: float | None = None) -> InvariantComparison:
    """Compare a matrix whose outcomes are values (PRAM) with the best one that keeps the frequencies.

    The better one has πP = π, leaks no more than the given matrix (the same largest lift for the prior, and for any
    prior where that is bounded), and keeps as many rows as possible; or its upper bound proves that none keeps more.

    Parameters
    ----------
    mechanism
        The matrix, its outcomes among its values.
    prior
        The frequencies to keep: a Prior, a list of probabilities, or a mapping from values.
    time_limit
        Seconds for the design.

    Examples
    --------
    >>> from leakwise import Mechanism
    >>> pram = Mechanism([[0.8, 0.2], [0.6, 0.4]], inputs=["no", "yes"], outputs=["no", "yes"])
    >>> print(best_invariant(pram, {"no": 0.75, "yes": 0.25}).sentence)
    This matrix keeps 70% of the values: among the mechanisms that keep the frequencies, it keeps as many as any that \
leaks no more (lift 1.6).
    """
    given = as_prior(align_prior(as_prior(prior), mechanism))
    known = Prior.from_integers(mechanism.input_alphabet, given.weights.tolist(), given.sample_size)
    shift = frequency_shift(mechanism, known)
    if math.isinf(shift):
        others = [label for label in mechanism.outputs if label not in set(known.labels)]
        raise InvalidInput(
            f"mechanism must have values as outcomes, as a PRAM matrix has. The outcome {others[0]!r} is not a value; "
            f"the values are {', '.join(map(repr, known.labels))}."
        )
    certificate = certify(mechanism, known)
    assert certificate.ratio is not None  # a single prior bounds every lift
    everyone = ldp_ratio(mechanism)
    found = design(
        known,
        lift=certificate.ratio,
        anyone=everyone,
        utility=Expected(np.eye(len(known))),
        keep_frequencies=True,
        time_limit=time_limit,
    )
    own = [mechanism.outputs.index(label) if label in mechanism.outputs else None for label in known.labels]
    kept = sum(
        int(weight) * int(mechanism.weights[row, column])
        for row, (weight, column) in enumerate(zip(known.weights.tolist(), own, strict=True))
        if column is not None
    )
    share = float(Fraction(kept, known.denominator * mechanism.denominator))
    return InvariantComparison(mechanism, certificate, share, shift, found)
