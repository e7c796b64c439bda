"""least_leakage(): the mechanism on a mask that leaks least, with the proof that none leaks less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, as_alphabet
from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.charts.words import Kept
from leakwise.errors import InvalidInput
from leakwise.exact import over_common_denominator
from leakwise.guarantee import at_least, at_most
from leakwise.mechanism import DenseKernel, Mechanism
from leakwise.mechanism.catalog import BITS
from leakwise.optimize.worst_case.mask import Mask, as_mask
from leakwise.optimize.worst_case.rounding import DUST, round_columns
from leakwise.priors import PriorSet, as_prior_set
from leakwise.proof import MaskCertificate, certify
from leakwise.types import Bools, Floats

__all__ = ["LeastLeakage", "least_leakage", "on_mask", "ratio_on", "whole_numbers"]


@dataclass(frozen=True, repr=False)
class LeastLeakage(Drawn):
    """The mechanism on a mask that leaks least.

    Attributes
    ----------
    mechanism
        Exact over a power of two; only allowed pairs have positive probability.
    epsilon
        What it leaks, proven on its integers, rounded up.
    lower
        No mechanism on the mask leaks less, proven by the duals of the certificate; rounded down.
    gap
        The difference of the two: what rounding to integers and floats left.
    method
        How it was found.
    certificate
        Both proofs; ``certificate.verify()`` checks them again on integers.
    mask
        The allowed pairs.
    """

    mechanism: Mechanism
    method: str
    certificate: MaskCertificate
    mask: Mask

    @property
    def epsilon(self) -> float:
        """What the mechanism leaks, in nats, rounded up."""
        return self.certificate.epsilon_upper

    @property
    def lower(self) -> float:
        """No mechanism on the mask leaks less, in nats, rounded down."""
        return self.certificate.lower

    @property
    def value(self) -> float:
        """The same as :attr:`epsilon`."""
        return self.epsilon

    @property
    def bound(self) -> float:
        """The same as :attr:`lower`."""
        return self.lower

    @property
    def gap(self) -> float:
        """How far the mechanism may be from the least leakage, in nats."""
        return self.certificate.gap

    @property
    def costs_nothing(self) -> bool:
        """Whether the guarantee costs no leakage at all: a constant answer keeps to the mask."""
        return self.epsilon == 0.0

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        if self.costs_nothing:
            answer = self.mechanism.outputs[0]
            return (
                f"The guarantee ({self.mask.words}) costs no leakage at all: the constant answer {answer!r} keeps it. "
                "Use then= in lw.WorstCase for a mechanism that says more."
            )
        return f"Keeping to the mask ({self.mask.words}): {self.certificate.sentence}"

    def _shown(self) -> Parts:
        used = int((self.mechanism.kernel.column_max() > 0).sum())
        rows = [
            ["least ε (nats)", at_most(self.epsilon, 6)],
            ["proven lower bound", at_least(self.lower, 6)],
            ["gap", at_most(self.gap, 2)],
            ["outputs used", f"{used:,} of {self.mask.shape[1]:,}"],
            ["pairs allowed", f"{int(self.mask.allowed.sum()):,} of {self.mask.allowed.size:,}"],
            ["method", self.method],
        ]
        return [Table(["", "least leakage"], rows, Kept(self.sentence)), self.mechanism]

    def chart(self) -> dict[str, Any]:
        """A Vega-Lite picture of the mechanism; forbidden pairs are those without probability."""
        return self.mechanism.chart("The mechanism of least leakage on the mask")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the numbers, the certificate and the mechanism."""
        return {
            "epsilon": float(self.epsilon),
            "lower": self.lower,
            "gap": self.gap,
            "costs_nothing": self.costs_nothing,
            "method": self.method,
            "mask": self.mask.words,
            "certificate": self.certificate.to_dict(),
            "mechanism": self.mechanism.to_dict(),
        }


def least_leakage(prior: Any, mask: Any, *, outputs: Any = None) -> LeastLeakage:
    r"""The least ε of any mechanism that only uses allowed pairs, a mechanism that has it, and the proof of both sides.

    .. math:: \min_P \max_{ij} \frac{p_{ij}}{\sum_k \pi_k p_{kj}} \quad\text{s.t.}\quad p_{ij} = 0 \text{ off the mask}

    This is problem (2) of [WC] without its constraint (3) on the outputs. The paper bisects with linear programs (10);
    here the ratio is followed to an exact breakpoint or to the root of a basis, and a dual vector proves that nothing
    smaller is possible (the mathematics, section 3).

    Parameters
    ----------
    prior
        A prior or a set of priors; for a set, the leakage is the largest over the set.
    mask
        N×M, True where the output may be given for the letter.
    outputs
        Labels of the outputs; the letters themselves for a square mask.

    Examples
    --------
    >>> w = least_leakage([0.4, 0.3, 0.3], [[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    >>> print(f"{w.epsilon:.6f}", w.gap < 1e-12)
    0.510826 True
    """
    priors = as_prior_set(prior)
    given = as_mask(mask, priors)
    if outputs is not None:
        given = Mask(given.allowed, as_alphabet(outputs, name="outputs"), given.words)
        if len(given.names(priors.alphabet)) != given.shape[1]:
            labels = len(given.names(priors.alphabet))
            raise InvalidInput(
                f"outputs must be as many as the columns of the mask. Got {labels} for {given.shape[1]}."
            )
    return on_mask(priors, given)


def ratio_on(priors: PriorSet, mask: Mask, *, before: Any = None, target: float | None = None) -> tuple[Any, Any]:
    """Search the least ratio on a checked mask: what was found, and for a set of priors the witnesses of its proof.

    ``before`` is what was found on a larger mask; with a ``target`` the search ends once it is known to be within.
    """
    if priors is not priors.nominal:
        from leakwise.optimize.worst_case.least_ratio.prior_sets import robust_ratio

        return robust_ratio(priors, mask.allowed)
    from leakwise.optimize.worst_case.least_ratio.columns import MaskColumns
    from leakwise.optimize.worst_case.least_ratio.large_masks import least_ratio_of

    support = priors.support
    columns = MaskColumns(mask.allowed[support], priors.nominal.probabilities[support])
    return least_ratio_of(columns, before=before, target=target), None


def on_mask(priors: PriorSet, mask: Mask, *, searched: tuple[Any, Any] | None = None) -> LeastLeakage:
    """Return the least leakage on a checked mask; ``searched`` is a search that was made already."""
    support = np.asarray(priors.support, dtype=np.bool_)
    found, witnesses = ratio_on(priors, mask) if searched is None else searched
    duals = np.zeros(len(support))
    duals[support] = found.y
    matrix = without_dust(found.matrix, priors.nominal.probabilities[support])
    mechanism = mechanism_on(matrix, mask, support, priors.alphabet)
    guarantee = certify(mechanism, priors)
    names = mask.names(priors.alphabet).labels
    certificate = MaskCertificate.of(guarantee, mask.allowed, names, whole_numbers(duals), witnesses)
    return LeastLeakage(mechanism, found.how, certificate.verify_for_the_set(), mask)


def whole_numbers(values: Sequence[float] | Floats) -> list[int]:
    """Return floats as integers over one denominator, exactly."""
    return over_common_denominator([Fraction(float(value)) for value in values])[0]


def without_dust(matrix: Floats, p: Floats) -> Floats:
    """Without the outputs that no letter gives, and the probabilities that are nothing, but for rounding.

    However small, a probability stays where the mass of its letter makes it count: a lift of 1e12 hangs on 1e-19.
    """
    kept = np.where(matrix.max(axis=0) > DUST, matrix, 0.0)
    counts = p[:, None] * kept > 2.0**-50 * (p @ kept)
    return np.where((kept > 2.0**-56) | counts, kept, 0.0)


def mechanism_on(matrix: Floats, mask: Mask, support: Bools, letters: Alphabet) -> Mechanism:
    """Probabilities on the mask as exact integers; letters without mass answer like the others where they may."""
    full = np.zeros(mask.allowed.shape)
    full[support] = matrix
    for letter in np.flatnonzero(~support):
        allowed = mask.allowed[letter]
        share = np.where(allowed, full[support].sum(axis=0), 0.0)
        full[letter] = share if share.any() else allowed.astype(np.float64)
    used = np.flatnonzero(full.any(axis=0))
    return mask.mechanism(DenseKernel(round_columns(full[:, used], BITS), 1 << BITS), used, letters)
