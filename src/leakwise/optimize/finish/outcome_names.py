"""Outcomes with names: by what they say for labelled utilities, by the letters that they raise for all others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from leakwise.alphabet import Alphabet, Label
from leakwise.exact import round_integer_rows
from leakwise.leakage import lifts as lifts_of
from leakwise.mechanism import CommonLawKernel, DenseKernel, Kernel, Mechanism
from leakwise.mechanism.catalog import BITS
from leakwise.optimize.problem.utility import Utility
from leakwise.priors import Prior
from leakwise.types import Bools, Floats, Indices

__all__ = ["distinct", "named", "outcome_names"]

_SHOWN = 4


def named(kernel: Kernel, prior: Prior, utility: Utility, says: Indices | None) -> Mechanism:
    """Return the mechanism over all declared letters; those of mass zero get the output law, which tells nothing."""
    if kernel.shape[0] < len(prior):
        weights = prior.weights[prior.support]
        law = np.array([kernel.output_law(weights)], dtype=np.object_)
        full = np.tile(round_integer_rows(law, kernel.denominator * prior.denominator, BITS), (len(prior), 1))
        full[prior.support] = kernel.weights
        kernel = DenseKernel(full, kernel.denominator)
    if says is not None:
        words = utility.says(prior)
        outputs = Alphabet([words.labels[place] for place in says], name="outcomes", declared=True)
    else:
        outputs = Alphabet(_names(kernel, prior), name="outcomes")
    return Mechanism.from_kernel(kernel, prior.alphabet, outputs)


def _names(kernel: Kernel, prior: Prior) -> list[str]:
    if isinstance(kernel, CommonLawKernel) and len(prior) > 2:
        texts = [str(label) for label in prior.labels]
        if kernel.diagonal == 0:
            return [f"any #{place}" for place in range(len(texts))]
        return [f"not {text}" if kernel.diagonal < 0 else f"{{{text}}}" for text in texts]
    return outcome_names(lifts_of(Mechanism.from_kernel(kernel, prior.alphabet), prior), prior.labels)


def outcome_names(lifts: Floats, labels: Sequence[Label]) -> list[str]:
    """Return ``{a,c}`` for an outcome that makes a and c more likely, ``not b`` for one that makes all but b so.

    >>> import numpy as np
    >>> outcome_names(np.array([[1.5, 1.2], [0.5, 1.2], [0.5, 0.6]]), ["a", "b", "c"])
    ['{a}', 'not c']
    """
    return [str(name) for name in distinct(_name(column > 1 + 1e-9, labels) for column in lifts.T)]


def distinct(names: Iterable[Label]) -> list[Label]:
    """Return names with a number after those that occur more than once."""
    every = list(names)
    counts, seen = Counter(every), Counter[Label]()
    numbered: list[Label] = []
    for name in every:
        seen[name] += 1
        numbered.append(name if counts[name] == 1 else f"{name} #{seen[name]}")
    return numbered


def _name(raised: Bools, labels: Sequence[Label]) -> str:
    up = [str(label) for label, here in zip(labels, raised, strict=True) if here]
    down = [str(label) for label, here in zip(labels, raised, strict=True) if not here]
    if not up or not down:
        return "any"
    if len(up) <= len(down):
        return "{" + _joined(up) + "}"
    return f"not {down[0]}" if len(down) == 1 else "not {" + _joined(down) + "}"


def _joined(labels: list[str]) -> str:
    if len(labels) <= _SHOWN:
        return ",".join(labels)
    return ",".join(labels[: _SHOWN - 1]) + f",+{len(labels) - _SHOWN + 1}"
