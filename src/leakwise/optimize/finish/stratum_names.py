"""Names of outcomes that mean the same set of values in every stratum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from leakwise.alphabet import Alphabet, Label
from leakwise.errors import label_text
from leakwise.leakage import lifts
from leakwise.mechanism import CommonLawKernel, Mechanism
from leakwise.optimize.finish.outcome_names import codes, distinct, outcome_names, set_name, too_long
from leakwise.priors import Prior
from leakwise.types import Bools

__all__ = ["same_names"]

# Beyond so many entries a matrix of lifts is not written out; such mechanisms have one outcome per value.
_MOST_ENTRIES = 4_000_000

Raised = tuple[str, tuple[bool, ...]]


def same_names(
    mechanisms: Mapping[Label, Mechanism],
    known: Mapping[Label, Prior],
    labels: Sequence[Label],
    otherwise: Mechanism | None,
) -> tuple[dict[Label, Mechanism], Mechanism | None, dict[Label, str]]:
    """Return the mechanisms with outcomes named by the values they raise, one name for one set, and what names mean.

    Values are raised over the prior where it is ``known``, that is, public; over the uniform prior everywhere else:
    names that depend on counts would tell them, even of a mechanism that does not depend on them. Names are shortened
    (``{a,b,c,+2}``) only where no other set has the same short name. Many large sets get a short code each.
    """
    anything = Prior.uniform(labels)
    rows, columns = len(labels), max(one.shape[1] for one in mechanisms.values())
    if rows * columns > _MOST_ENTRIES:
        kept = {key: one if key in known else _numbered(one) for key, one in mechanisms.items()}
        return kept, None if otherwise is None else _numbered(otherwise), {}
    memory: dict[tuple[int, tuple[int, ...]], list[Raised]] = {}
    raised: dict[Label | None, list[Raised]] = {}
    for key, one in mechanisms.items():
        prior = known.get(key, anything)
        token = (id(one), tuple(prior.weights.tolist()))
        if token not in memory:
            memory[token] = _raised(one, prior)
        raised[key] = memory[token]
    everywhere = list(raised.values())
    rest = None if otherwise is None else _raised(otherwise, anything)
    sets: dict[str, dict[tuple[bool, ...], None]] = {}
    for name, which in (pair for pairs in [*everywhere, *([] if rest is None else [rest])] for pair in pairs):
        sets.setdefault(name, {})[which] = None
    texts = [label_text(label) for label in labels]
    names = _set_names(sets, texts)
    legend: dict[Label, str] = {}

    def named(mechanism: Mechanism, pairs: list[Raised]) -> Mechanism:
        unique = distinct(names[which] for _, which in pairs)
        legend.update(
            (one, set_name(np.array(which), texts, rows)) for one, (_, which) in zip(unique, pairs, strict=True)
        )
        if tuple(unique) == mechanism.outputs:
            return mechanism
        return Mechanism.from_kernel(mechanism.kernel, mechanism.input_alphabet, Alphabet(unique, name="outcomes"))

    renamed = {key: named(one, raised[key]) for key, one in mechanisms.items()}
    return renamed, None if otherwise is None or rest is None else named(otherwise, rest), legend


def _set_names(
    sets: Mapping[str, Mapping[tuple[bool, ...], None]], labels: Sequence[str]
) -> dict[tuple[bool, ...], str]:
    """A name for each set: short where no other set has the same one, else whole; a code where many are large."""
    every = [which for found in sets.values() for which in found]
    if too_long(np.array(every).T):
        return dict(zip(every, codes(len(every)), strict=True))
    return {
        which: name if len(found) == 1 else set_name(np.array(which), labels, len(labels))
        for name, found in sets.items()
        for which in found
    }


def _raised(mechanism: Mechanism, prior: Prior) -> list[Raised]:
    with np.errstate(all="ignore"):
        ratios = lifts(mechanism, prior)
    up: Bools = ratios > 1 + 1e-9
    return [
        (outcome_names(ratios[:, [place]], prior.labels)[0], tuple(up[:, place].tolist()))
        for place in range(mechanism.shape[1])
    ]


def _numbered(mechanism: Mechanism) -> Mechanism:
    """Names without a meaning, for a mechanism too large to be looked at; those of a common law are its values."""
    if isinstance(mechanism.kernel, CommonLawKernel):
        return mechanism
    names = Alphabet([f"y{place}" for place in range(1, mechanism.shape[1] + 1)], name="outcomes")
    return Mechanism.from_kernel(mechanism.kernel, mechanism.input_alphabet, names)
