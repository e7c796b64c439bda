r"""The bound of a tangent, checked in ball arithmetic: for one belief u' and one λ ≥ η

.. math:: I(a;Y) ≤ \max_k\Bigl[\sum_y r_{ky} \log\frac{P'(a_k, y)}{P'(a_k) P'(y)} + λ \log\frac{m_k}{u'_k}\Bigr] - λ b

for every adversary with H(X) ≥ b. Why: I(u) exceeds its tangent at u' by

    Σ_a P(a) D(P_{Y|a} ‖ P'_{Y|a}) - D(P_Y ‖ P'_Y)  ≤  η D(u ‖ u'),

because the rows of one value shrink divergences by η: at most the largest total variation between two of them, and at
most 1 - min (Σ_y √(r_ky r_k'y))². The terms in u' are a tangent of I + λ(H(u) + u·log m), which is homogeneous, so that
its largest value over all beliefs is the largest entry.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx

from leakwise.errors import CertificateRejected
from leakwise.proof.records.boxes import PRECISION, ball, normalised, upper
from leakwise.proof.records.classes import RecordClasses

__all__ = ["TangentProof", "tangent_bound"]


@dataclass(frozen=True)
class TangentProof:
    """The belief at which the tangent is taken, over the classes of a record, and the multiplier λ of the entropy."""

    belief: tuple[float, ...]
    scale: float


def tangent_bound(case: RecordClasses, b: Fraction, proof: TangentProof) -> Fraction:
    """Return the information that the tangent proves nobody exceeds who has H(X) ≥ b."""
    numbers = (*proof.belief, proof.scale)
    if len(proof.belief) != len(case.letter) or not all(math.isfinite(x) and x > 0 for x in numbers):
        raise CertificateRejected(
            "The certificate must have a positive number for each class, and one for the entropy."
        )
    with ctx.workprec(PRECISION):
        rows = normalised(case)
        outcomes = range(len(rows[0]))
        scale, total = ball(proof.scale), ball(sum(map(Fraction, proof.belief), Fraction(0)))
        u = [ball(x) / total for x in proof.belief]
        if not scale >= _contraction(case, rows):
            raise CertificateRejected("The multiplier of the entropy is too small for a tangent to prove anything.")
        blocks = [[k for k, a in enumerate(case.letter) if a == b] for b in range(len(case.values))]
        own = [sum((u[k] for k in block), arb(0)) for block in blocks]
        joint = [[sum((u[k] * rows[k][y] for k in block), arb(0)) for y in outcomes] for block in blocks]
        law = [sum((joint[a][y] for a in range(len(blocks))), arb(0)) for y in outcomes]
        most: Fraction | None = None
        for a, block in enumerate(blocks):
            told = [(joint[a][y] / (own[a] * law[y])).log() if joint[a][y] > 0 else arb(0) for y in outcomes]
            for k in block:
                here = sum((rows[k][y] * told[y] for y in outcomes if case.rows[k][y]), arb(0))
                found = upper(here + scale * ((arb(case.datasets[k]) / u[k]).log() - ball(b)))
                most = found if most is None else max(most, found)
    assert most is not None
    return max(most, Fraction(0))


def _contraction(case: RecordClasses, rows: list[list[arb]]) -> arb:
    """η as a ball."""
    apart, alike = arb(0), arb(1)
    for a in range(len(case.values)):
        block = [k for k, letter in enumerate(case.letter) if letter == a]
        for j, k in itertools.combinations(block, 2):
            pairs = list(zip(rows[j], rows[k], strict=True))
            distance = sum((abs(p - q) for p, q in pairs), arb(0)) / 2
            common = sum(((p * q).sqrt() for p, q in pairs), arb(0))
            apart = apart if apart > distance else distance.union(apart) if not distance > apart else distance
            alike = alike if alike < common else common.union(alike) if not common < alike else common
    other = 1 - alike * alike
    return apart if apart < other else other
