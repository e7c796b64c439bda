"""Outcomes with names: by what they say for labelled utilities, by what they raise for all others."""

from __future__ import annotations

import numpy as np

from leakwise.alphabet import Alphabet
from leakwise.exact import round_integer_rows
from leakwise.leakage import lifts as lifts_of
from leakwise.mechanism import CommonLawKernel, DenseKernel, Kernel, Mechanism
from leakwise.mechanism.catalog import BITS
from leakwise.optimize.finish.outcome_names import outcome_names
from leakwise.optimize.problem.utilities import LinearUtility, Utility
from leakwise.priors import Prior
from leakwise.types import Indices

__all__ = ["labelled"]


def labelled(kernel: Kernel, prior: Prior, supported: Prior, utility: Utility, says: Indices | None) -> Mechanism:
    """Return the mechanism over all declared letters; those of mass zero get the output law, which tells nothing."""
    if len(supported) < len(prior):
        law = kernel.output_law(supported.weights)
        row = round_integer_rows(np.array([law], dtype=np.object_), kernel.denominator * supported.denominator, BITS)
        weights = np.tile(row, (len(prior), 1))
        weights[prior.support] = kernel.weights
        kernel = DenseKernel(weights, kernel.denominator)
    if says is not None and isinstance(utility, LinearUtility):
        words = utility.says(prior)
        names = Alphabet([words.labels[place] for place in says], name="outcomes", declared=True)
        return Mechanism.from_kernel(kernel, prior.alphabet, names)
    return Mechanism.from_kernel(kernel, prior.alphabet, Alphabet(_names(kernel, prior), name="outcomes"))


def _names(kernel: Kernel, prior: Prior) -> list[str]:
    if isinstance(kernel, CommonLawKernel) and len(prior) > 2:
        texts = [str(label) for label in prior.labels]
        if kernel.diagonal == 0:
            return [f"any #{place}" for place in range(len(texts))]
        return [f"not {text}" if kernel.diagonal < 0 else f"{{{text}}}" for text in texts]
    numbered = Mechanism.from_kernel(kernel, prior.alphabet)
    return outcome_names(lifts_of(numbered, prior), prior.labels)
