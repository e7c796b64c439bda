"""Outcomes with names: by what they say for labelled utilities, by the letters that they raise for all others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from leakwise.alphabet import Alphabet, Label
from leakwise.errors import InvalidInput, label_text
from leakwise.exact import round_integer_rows
from leakwise.leakage import lifts as lifts_of
from leakwise.mechanism import CodeKernel, CommonLawKernel, DenseKernel, Kernel, Mechanism
from leakwise.mechanism.catalog import BITS
from leakwise.optimize.problem.utility import Utility
from leakwise.priors import Prior
from leakwise.types import Bools, Floats, Indices

__all__ = ["coded", "codes", "distinct", "legend", "named", "outcome_names", "set_name", "too_long"]

_SHOWN = 4
_CODED = 24  # more outcomes than that get short codes, where some of them would raise too many letters to be listed
_CODE = re.compile(r"y\d+( #\d+)?")
_LONGEST = 20_000_000  # values times outcomes of a legend


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
        texts = [label_text(label) for label in prior.labels]
        if kernel.diagonal == 0:
            return [f"any #{place}" for place in range(len(texts))]
        named = distinct(f"not {text}" if kernel.diagonal < 0 else f"{{{text}}}" for text in texts)
        return [str(name) for name in named]
    return outcome_names(lifts_of(Mechanism.from_kernel(kernel, prior.alphabet), prior), prior.labels)


def outcome_names(lifts: Floats, labels: Sequence[Label]) -> list[str]:
    """Return ``{a,c}`` for an outcome that makes a and c more likely, ``not b`` for one that makes all but b so.

    Many outcomes of many letters would have names that nobody can tell apart: those are called ``y001``, ``y002``, …

    >>> import numpy as np
    >>> outcome_names(np.array([[1.5, 1.2], [0.5, 1.2], [0.5, 0.6]]), ["a", "b", "c"])
    ['{a}', 'not c']
    """
    raised = _raised(lifts)
    if too_long(raised):
        return codes(raised.shape[1])
    return [str(name) for name in distinct(set_name(column, labels, _SHOWN) for column in raised.T)]


def too_long(raised: Bools) -> bool:
    """Return whether the sets of these outcomes (columns) are too many and too large to be their names."""
    return raised.shape[1] > _CODED and int(np.minimum(raised.sum(axis=0), (~raised).sum(axis=0)).max()) > _SHOWN


def codes(count: int) -> list[str]:
    """Return short names for so many outcomes.

    >>> codes(3)
    ['y1', 'y2', 'y3']
    """
    return [f"y{place:0{len(str(count))}d}" for place in range(1, count + 1)]


def coded(names: Sequence[object]) -> bool:
    """Return whether outcomes have short codes, which a legend explains."""
    return len(names) > _CODED and all(_CODE.fullmatch(str(name)) for name in (names[0], names[-1]))


def legend(mechanism: Mechanism, prior: Prior, outcomes: Iterable[Label] | None = None) -> dict[Label, str]:
    """Return for each outcome, or for some, the values that it makes more likely, all of them."""
    wanted = list(mechanism.outputs if outcomes is None else outcomes)
    if len(wanted) * len(prior) > _LONGEST:
        raise InvalidInput(
            f"A legend of {len(wanted):,} outcomes and {len(prior):,} values is too long to be read. Name the outcomes "
            f"to be explained: legend([{wanted[0]!r}])."
        )
    places = [mechanism.output_alphabet.code(name, name="outcome") for name in wanted]
    kernel = mechanism.kernel
    if isinstance(kernel, CodeKernel):
        raised = np.stack([kernel.holds(place) for place in places], axis=1)
    else:
        raised = _raised(lifts_of(mechanism, prior)[:, places])
    return dict(zip(wanted, (set_name(column, prior.labels, len(prior)) for column in raised.T), strict=True))


def _raised(lifts: Floats) -> Bools:
    here: Bools = lifts > 1 + 1e-9
    return here


def distinct(names: Iterable[Label]) -> list[Label]:
    """Return names with a number after those that occur more than once."""
    every = list(names)
    counts, seen = Counter(every), Counter[Label]()
    numbered: list[Label] = []
    for name in every:
        seen[name] += 1
        numbered.append(name if counts[name] == 1 else f"{name} #{seen[name]}")
    return numbered


def set_name(raised: Bools, labels: Sequence[Label], shown: int) -> str:
    """Return a name for an outcome that raises these values, of which so many are listed."""
    up = [label_text(label) for label, here in zip(labels, raised, strict=True) if here]
    down = [label_text(label) for label, here in zip(labels, raised, strict=True) if not here]
    if not up or not down:
        return "any"
    if len(up) <= len(down):
        return "{" + _joined(up, shown) + "}"
    return f"not {down[0]}" if len(down) == 1 else "not {" + _joined(down, shown) + "}"


def _joined(labels: list[str], shown: int) -> str:
    if len(labels) <= shown:
        return ",".join(labels)
    return ",".join(labels[: shown - 1]) + f",+{len(labels) - shown + 1}"
