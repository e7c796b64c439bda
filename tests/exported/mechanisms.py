"""Mechanisms of every kind that a sampler can be made of, and the words at which its draws change."""

from __future__ import annotations

import datetime
from fractions import Fraction
from typing import Any

import numpy as np

import leakwise as lw
from leakwise.exported.contents import contents_of
from leakwise.mechanism import CommonLawKernel

HOSTILE = [
    "'",
    '"',
    "\\",
    "\\'; DROP TABLE truth; --",
    "'; DROP TABLE truth; --",
    "$leakwise$; DROP TABLE truth; --",
    "$$",
    "${process.exit(1)}",
    "`",
    "</script><script>window.broken = 1</script>",
    "<!--",
    "-->",
    "*/",
    "\n\r\u2028\u2029\x85\x1f",
    "@DATA@ @NAME@ @STARTS@",
    "\\u0027",
    "%I %s %1$L",
    ":x :'x' \\! exit",
    "__proto__",
    "constructor",
    "größer",
    "\U0001f600",
    "",
    "null",
    "1",
]
"""Labels that would end a quotation, a line, a comment, a script or a format, where one is not careful."""


def rounded(rows: int, columns: int, seed: int = 0) -> lw.Mechanism:
    """A dense mechanism without structure, with some outcomes that are impossible."""
    generator = np.random.default_rng(seed)
    matrix = generator.dirichlet(np.full(columns, 0.7), rows)
    matrix[generator.random(matrix.shape) < 0.2] = 0
    matrix[:, 0] += 0.1
    return lw.Mechanism(matrix / matrix.sum(axis=1, keepdims=True))


def by_strata() -> lw.StratifiedMechanism:
    """Two given columns, one of them binned; values that cannot occur; a mechanism for all other strata."""
    values = ["no", "yes", None]
    weak, strong = (lw.randomized_response(values, lift=lift) for lift in (8, 2))
    other = lw.Mechanism([["1/3", "2/3"], ["2/3", "1/3"], ["1/2", "1/2"]], inputs=values, outputs=["low", None])
    ages = lw.bins([0, 18.5, 65, float("inf")])
    return lw.StratifiedMechanism(
        {("f", ages.labels[0]): weak, ("m", ages.labels[0]): strong, ("f", ages.labels[2]): other},
        given={"sex": ["f", "m", "it's $1"], "age": ages},
        impossible={("m", ages.labels[0]): ["yes"]},
        otherwise=strong,
    )


UNSTRATIFIED: dict[str, lw.Mechanism] = {
    "a common distribution": lw.randomized_response(["no", "yes", "rather not say"], lift=3),
    "a negative diagonal": lw.Mechanism.from_kernel(CommonLawKernel(np.array([8, 5, 5]), 16), ["a", "b", "c"], None),
    "dense": rounded(6, 9),
    "thirds": lw.Mechanism([["1/3", "2/3"], ["2/3", "1/3"]], inputs=[False, True], outputs=[1, 2]),
    "over 2^64": lw.Mechanism([[Fraction(1, 2**64), Fraction(2**64 - 1, 2**64)], [1, 0]]),
    "certain": lw.identity([-5, 0, 2**53 - 1, None]),
    "numbers": lw.randomized_response([0.1, -1e300, 3], lift=2),
    "dates": lw.randomized_response([datetime.date(2024, 1, 31), datetime.date(1970, 1, 1)], lift=2),
    "one value": lw.Mechanism([["1/4", "3/4"]], inputs=["only"], outputs=["a", "b"]),
}


def telling_words(mechanism: Any) -> list[int]:
    """The first and the last word of each outcome in each row."""
    drawn = lw.export(mechanism, "js").mechanism
    starts = {start for row, _ in contents_of(drawn, linear=False).rows() for start in row}
    return sorted({0, 2**64 - 1, *starts, *(start - 1 for start in starts if start)})
