"""Names of outcomes that mean the same set of values in every stratum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from leakwise.alphabet import Alphabet, Label
from leakwise.leakage import lifts
from leakwise.mechanism import Mechanism
from leakwise.optimize.finish.outcome_names import outcome_names
from leakwise.priors import Prior, PriorByStratum
from leakwise.types import Bools

__all__ = ["same_names"]

# Beyond so many entries a matrix of lifts is not written out; such mechanisms have one outcome per value.
_MOST_ENTRIES = 4_000_000

Raised = tuple[str, tuple[bool, ...]]


def same_names(
    mechanisms: Mapping[Label, Mechanism], priors: PriorByStratum, otherwise: Mechanism | None
) -> tuple[dict[Label, Mechanism], Mechanism | None]:
    """Return the mechanisms with outcomes named by the values they raise, one name for one set in all strata.

    Names are shortened (``{a,b,c,+2}``) only where no other set has the same short name.
    """
    rows, columns = len(priors.labels), max(one.shape[1] for one in mechanisms.values())
    if rows * columns > _MOST_ENTRIES:
        return dict(mechanisms), otherwise
    known: dict[tuple[int, tuple[int, ...]], list[Raised]] = {}
    raised: dict[Label | None, list[Raised]] = {}
    for key, one in mechanisms.items():
        nominal = priors[key].nominal
        token = (id(one), tuple(nominal.weights.tolist()))
        if token not in known:
            known[token] = _raised(one, nominal)
        raised[key] = known[token]
    everywhere = list(raised.values())
    rest = None if otherwise is None else _raised(otherwise, Prior.uniform(priors.labels))
    sets: dict[str, set[tuple[bool, ...]]] = {}
    for name, which in (pair for pairs in [*everywhere, *([] if rest is None else [rest])] for pair in pairs):
        sets.setdefault(name, set()).add(which)
    ambiguous = {name for name, found in sets.items() if len(found) > 1}
    labels = [str(label) for label in priors.labels]
    renamed = {key: _named(one, raised[key], ambiguous, labels) for key, one in mechanisms.items()}
    return renamed, None if otherwise is None or rest is None else _named(otherwise, rest, ambiguous, labels)


def _raised(mechanism: Mechanism, prior: Prior) -> list[Raised]:
    with np.errstate(all="ignore"):
        ratios = lifts(mechanism, prior)
    up: Bools = ratios > 1 + 1e-9
    return [
        (outcome_names(ratios[:, [place]], prior.labels)[0], tuple(up[:, place].tolist()))
        for place in range(mechanism.shape[1])
    ]


def _named(mechanism: Mechanism, raised: list[Raised], ambiguous: set[str], labels: list[str]) -> Mechanism:
    names = [_whole(which, labels) if name in ambiguous else name for name, which in raised]
    repeated = {name for name, count in Counter(names).items() if count > 1}
    seen: Counter[str] = Counter()
    unique = []
    for name in names:
        seen[name] += 1
        unique.append(f"{name} #{seen[name]}" if name in repeated else name)
    if tuple(unique) == mechanism.outputs:
        return mechanism
    return Mechanism.from_kernel(mechanism.kernel, mechanism.input_alphabet, Alphabet(unique, name="outcomes"))


def _whole(which: tuple[bool, ...], labels: list[str]) -> str:
    up = [label for label, here in zip(labels, which, strict=True) if here]
    down = [label for label, here in zip(labels, which, strict=True) if not here]
    return "{" + ",".join(up) + "}" if len(up) <= len(down) else "not {" + ",".join(down) + "}"
