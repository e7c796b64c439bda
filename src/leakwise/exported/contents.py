"""What a sampler has in it, in whatever language it is written: domains, integers, and which stratum has which.

**The protocol.** A draw takes one word u, an integer from 0 to 2^64 - 1: eight random bytes, the first the lowest. For
a row of weights w_0, w_1, … over 2^bits its outcome is the first j with u < 2^(64-bits) (w_0 + … + w_j). It is the map
of :class:`leakwise.sampling.InverseSampler`, by which releases with a key are drawn, and it never changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, Bins, Label, encode_column
from leakwise.errors import InvalidInput
from leakwise.mechanism import AnyMechanism, CommonLawKernel, Mechanism, StratifiedMechanism
from leakwise.types import Words

__all__ = ["Contents", "Domain", "Stratum", "contents_of", "drawn_from_words"]

MOST_ENTRIES = 1 << 18
"""So many probabilities make a file of some megabytes: more is not for a page or a function."""

MOST_COMBINATIONS = 1 << 53
"""JavaScript cannot tell larger whole numbers apart."""


@dataclass(frozen=True)
class Domain:
    """A column that a draw is told: the secret (without a name of its own), or a given one."""

    name: str
    alphabet: Alphabet

    @property
    def bins(self) -> Bins | None:
        """The bins, where numbers or dates are told and not labels."""
        return self.alphabet if isinstance(self.alphabet, Bins) else None


@dataclass(frozen=True)
class Stratum:
    """The number of a combination of given values, the place of its mechanism, and the codes that cannot occur.

    The number counts the combinations of the domains, the last column fastest.
    """

    number: int
    mechanism: int
    never: tuple[int, ...] = ()


@dataclass(frozen=True)
class Contents:
    """All that a sampler needs to know of a mechanism."""

    secret: Domain
    given: tuple[Domain, ...]
    outcomes: tuple[Label, ...]
    mechanisms: tuple[Mechanism, ...]
    strata: tuple[Stratum, ...]
    otherwise: int | None

    @property
    def shape(self) -> str:
        """How many values and outcomes there are, in words."""
        return f"{len(self.secret.alphabet):,} values, {len(self.outcomes):,} outcomes"

    def places(self, mechanism: Mechanism) -> list[int]:
        """Return where the outcomes of a mechanism are among those of all."""
        index = {label: place for place, label in enumerate(self.outcomes)}
        return [index[label] for label in mechanism.outputs]

    def rows(self) -> Iterator[tuple[list[int], list[int]]]:
        """Each row of each mechanism: the words at which its possible outcomes begin, and those outcomes."""
        for mechanism in self.mechanisms:
            places, shift = self.places(mechanism), 64 - mechanism.kernel.bits()
            for code in range(len(self.secret.alphabet)):
                starts, outcomes, total = [], [], 0
                for place, weight in zip(places, mechanism.kernel.row(code).tolist(), strict=True):
                    if weight:
                        starts.append(total << shift)
                        outcomes.append(place)
                    total += int(weight)
                yield starts, outcomes


def contents_of(mechanism: AnyMechanism, *, linear: bool) -> Contents:
    """Return what a sampler has in it.

    Parameters
    ----------
    mechanism
        With denominators that are powers of two.
    linear
        Whether the language writes a common distribution with a diagonal as such, and needs no matrix of it.
    """
    mechanisms = mechanism.mechanisms if isinstance(mechanism, StratifiedMechanism) else (mechanism,)
    entries = sum(
        one.shape[1] * (1 if linear and isinstance(one.kernel, CommonLawKernel) else one.shape[0]) for one in mechanisms
    )
    if entries > MOST_ENTRIES:
        raise InvalidInput(
            f"mechanism has {entries:,} probabilities, and a sampler of more than {MOST_ENTRIES:,} is too large for a "
            "page or a function. Merge values, or release the table with leakwise release."
        )
    if isinstance(mechanism, Mechanism):
        secret = Domain("value", mechanism.input_alphabet)
        return Contents(secret, (), mechanism.outputs, mechanisms, (Stratum(0, 0),), None)
    names, domains = mechanism.given_columns.names, mechanism.given_columns.domains
    given = tuple(Domain(str(name), domain) for name, domain in zip(names, domains, strict=True))
    if len({one.name for one in given}) < len(given):
        raise InvalidInput(f"The given columns {names!r} cannot be told apart as texts. Rename them.")
    if mechanism.given_columns.combinations > MOST_COMBINATIONS:
        raise InvalidInput(f"The given columns {names!r} have too many combinations. Give fewer, or use coarser bins.")
    index, strata = mechanism.input_alphabet.index, []
    for key, place in mechanism.numbered.items():
        number = 0
        for domain, part in zip(domains, mechanism.given_columns.parts(key), strict=True):
            number = number * len(domain) + domain.index[part]
        strata.append(Stratum(number, place, tuple(index[value] for value in mechanism.impossible(key))))
    rest = None if mechanism.otherwise is None else [one is mechanism.otherwise for one in mechanisms].index(True)
    secret = Domain("value", mechanism.input_alphabet)
    return Contents(secret, given, mechanism.outputs, mechanisms, tuple(strata), rest)


def drawn_from_words(
    mechanism: AnyMechanism, values: Any, words: Words, given: Mapping[Any, Any] | None
) -> list[Label]:
    """Return the outcomes that given words stand for, by the sampler of Python."""
    from leakwise.sampling import InverseSampler

    outcomes = np.array(range(len(mechanism.outputs)), dtype=np.intp)
    codes = encode_column(values, mechanism.input_alphabet, name="values").astype(np.intp)
    if words.shape != codes.shape:
        raise InvalidInput(f"words must be one for each of the {codes.size} values. Got shape {words.shape} instead.")
    if isinstance(mechanism, Mechanism):
        sampler = InverseSampler([_entries(mechanism, outcomes)])
        return [mechanism.outputs[place] for place in sampler.draw_from_words(codes, words)]
    from leakwise.tables.strata.mechanisms import RowMechanisms

    rows, columns = RowMechanisms(mechanism), mechanism.given_columns
    missing = [name for name in columns.names if name not in (given or {})]
    if given is None or missing:
        raise InvalidInput(f"given must map each of {columns.quoted} to a column. Without one: {missing!r}.")
    places = [
        encode_column(given[name], domain, name=f"the given column {name!r}", outside=mechanism.otherwise is not None)
        for name, domain in zip(columns.names, columns.domains, strict=True)
    ]
    numbers = rows.combined(rows.of(places), codes)
    sampler = InverseSampler([_entries(cell.mechanism, rows.outcomes(cell)) for cell in rows.cells])
    return [mechanism.outputs[place] for place in sampler.draw_from_words(numbers, words)]


def _entries(mechanism: Mechanism, outcomes: Any) -> tuple[Any, int, Any]:
    """What the sampler of Python takes: it wants at least one bit."""
    weights, bits = mechanism.kernel.weights, mechanism.kernel.bits()
    return (weights, bits, outcomes) if bits else (2 * weights, 1, outcomes)
