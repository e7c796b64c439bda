r"""Draws that repeat: the outcome of a person's value is a function of a secret key, and no draw is stored.

Let Z(P, c, i, v) be the outcome that the key gives to value v of person i in column c under mechanism P. To anyone
without the key, the Z of different arguments are independent, Z(P, c, i, v) with the distribution P(. | v): the word
is 64 bits of a pseudo-random function, and the outcome its exact inverse. Releases at times 1, ..., T under one
mechanism show :math:`Y_\tau = Z(v_\tau)`: nothing but the outcomes of the distinct values that the person has had.

**What all releases together tell.** Let :math:`w_1, …, w_d` be the distinct values in the order in which they first
came, and B the times at which each was current (so B says when the value changed, and back to which). Given B and
the :math:`w_j`, the outcomes :math:`Z(w_1), …, Z(w_d)` are independent, and the released rows are a function of B
and them. So the lift of everything, for anyone who knows B, is the product of d lifts, of :math:`Z(w_j)` for the
belief about :math:`w_j` given B and the earlier outcomes (the chain rule). With t the lift for the prior and a the
lift for every prior:

- A value that never changes (d = 1): at most t for whoever knew the prior, at most a for anyone, for every T and for
  ever.
- A value that changed k times has d ≤ k + 1 distinct values: at most :math:`a^{k+1}` for anyone, and at most
  :math:`t\,a^k` for whoever knew the prior of the first value, whatever they know of how values change. Not
  :math:`t^{k+1}`: the new value differs from the old one, so that the prior is not what is believed about it.

This holds for every function of the values given B, such as the value at one time. What the outcomes tell about B
itself is not limited: two different outcomes of a person prove that the value changed, and equal ones make it more
likely that it did not. Where *that* it changed is a secret, draw afresh, and let the ledger add up.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from leakwise.alphabet import code_dtype, label_to_plain
from leakwise.errors import InvalidInput, LeakwiseWarning
from leakwise.mechanism import AnyMechanism, Mechanism, StratifiedMechanism
from leakwise.tables.kinds import frames
from leakwise.tables.memo.key import MemoKey
from leakwise.types import Array, Indices

if TYPE_CHECKING:
    from leakwise.sampling import ByteTexts
    from leakwise.tables.ledger.entries import Repeats
    from leakwise.tables.strata.mechanisms import RowMechanisms

__all__ = ["Memo", "MemoSampler", "memo_of"]

# Matrices up to this size are drawn from by their entries alone, however the mechanism is kept in memory. It never
# changes: it decides which outcome a word stands for.
_BY_ENTRIES = 1 << 22


@dataclass(frozen=True)
class Memo:
    """A key, and the column that says whose row it is."""

    key: MemoKey
    person: Hashable

    def token(self, names: Sequence[Hashable], mechanism: AnyMechanism) -> str:
        """Return what is equal for releases whose draws repeat one another: for one key, columns and mechanism."""
        several = mechanism.mechanisms if isinstance(mechanism, StratifiedMechanism) else (mechanism,)
        parts = [_context(self.key, names, one) for one in several]
        if len(several) > 1:
            # Which stratum has which mechanism matters, too.
            parts.append(json.dumps(mechanism.to_dict(), sort_keys=True).encode())
        return self.key.derived(b"release", *parts, size=16).hex()

    def entered(self, names: Sequence[Hashable], mechanism: AnyMechanism, changes: int | None) -> Repeats:
        """Return what a ledger keeps of it."""
        from leakwise.tables.ledger.entries import Repeats

        return Repeats(self.key.fingerprint, self.token(names, mechanism), changes)

    @property
    def told(self) -> dict[str, str]:
        """What a report says of it: the ``person`` column, and the fingerprint of the ``key``."""
        return {"person": str(self.person), "key": self.key.fingerprint}

    def check(self, columns: Iterable[Any], stacklevel: int) -> None:
        """Refuse rows without an id before anything is drawn, and warn of persons who have several rows."""
        from leakwise.sampling import KeyedWords

        words, context = KeyedWords(self.key.derived(b"persons", size=32)), bytes(16)
        seen = [np.zeros(0, dtype=np.uint64)]
        for column in columns:
            ids = self.ids(column)
            nothing = np.zeros(len(ids), dtype=np.intp)
            seen.append(words.words(ids, [context], nothing, nothing))
        rows = np.concatenate(seen)
        _, counts = np.unique(rows, return_counts=True)
        if several := int((counts > 1).sum()):
            warnings.warn(
                f"{several:,} persons have several rows by {self.person!r}, one of them {int(counts.max()):,}. Rows of "
                "a person with the same value have the same outcome: they tell what one of them does, and count as one "
                "for the precision of estimates. Each further value that a person has is a further draw about that "
                "person.",
                LeakwiseWarning,
                stacklevel=stacklevel + 1,
            )

    def ids(self, column: Any) -> ByteTexts:
        """Return the ids of a column of plain values."""
        from leakwise.tables.memo.person_ids import id_bytes  # the cipher is loaded when someone draws

        return id_bytes(column, f"person column {self.person!r}")

    def sampler(self, names: Sequence[Hashable], mechanism: AnyMechanism, rows: RowMechanisms | None) -> MemoSampler:
        """Return what draws for a secret; ``rows`` are the cells of a mechanism by strata."""
        if rows is None:
            assert isinstance(mechanism, Mechanism)
            cells = [(mechanism, np.arange(len(mechanism.outputs)))]
        else:
            cells = [(cell.mechanism, rows.outcomes(cell)) for cell in rows.cells]
        return MemoSampler(self.key, names, cells, len(mechanism.outputs))


def memo_of(
    memo: MemoKey | str | os.PathLike[str] | None,
    person: Hashable,
    known: Sequence[Hashable] | None,
    secret: Sequence[Hashable],
    unsafe_seed: int | None,
    changes: Any = None,
) -> Memo | None:
    """Return the key and the person column that a user gave; None for draws that do not repeat."""
    _check_changes(changes, memo)
    if memo is None:
        if person is not None:
            raise InvalidInput(
                f"person (--person) goes with memo (--memo), the key by which draws repeat. Got person={person!r} "
                "alone."
            )
        return None
    if person is None:
        raise InvalidInput(
            "memo (--memo) needs person (--person): the column that says whose row it is, by the same id in every "
            "release."
        )
    if unsafe_seed is not None:
        raise InvalidInput("memo and unsafe_seed exclude each other: draws repeat by the key already. Leave one out.")
    if known is None:
        raise InvalidInput(
            f"memo needs a table with a column of persons. The data is a bare column, without {person!r}."
        )
    frames.check_names(known, [person])
    if person in secret:
        raise InvalidInput(
            f"person (--person) must not be a secret column: {person!r} is. It must say whose row it is as it stands."
        )
    return Memo(memo if isinstance(memo, MemoKey) else MemoKey(memo), person)


def _check_changes(changes: Any, memo: object) -> None:
    """Refuse what is no number of changes, and one where draws do not repeat."""
    if changes is None:
        return
    if isinstance(changes, bool) or not isinstance(changes, int) or changes < 0:
        raise InvalidInput(f"changes (--changes) must be a whole number, at least 0. Got {changes!r} instead.")
    if memo is None:
        raise InvalidInput(
            f"changes (--changes) goes with memo (--memo): fresh draws count in full. Got changes={changes}."
        )


class MemoSampler:
    """Outcome codes that are functions of the key, the columns, the row's mechanism, its person and its value.

    Strata count only by their mechanism: a person who moves to a stratum with the same one keeps the same outcome.

    Parameters
    ----------
    key
        The secret key.
    names
        The columns of the secret.
    cells
        Mechanisms over one domain, and where the outcomes of each are among those of all.
    outcomes
        How many outcomes there are.
    """

    def __init__(
        self, key: MemoKey, names: Sequence[Hashable], cells: Sequence[tuple[Mechanism, Indices]], outcomes: int
    ) -> None:
        from leakwise.sampling import InverseSampler, KeyedWords

        self._words = KeyedWords(key.derived(b"words", size=32))
        self._size = len(cells[0][0].inputs)
        self.dtype = code_dtype(outcomes)
        self._contexts: list[bytes] = []
        entries: list[tuple[Any, int, Any]] = []
        self._place = np.full(len(cells), -1, dtype=np.intp)
        self._other: dict[int, tuple[Any, int, Array]] = {}
        for number, (mechanism, places) in enumerate(cells):
            self._contexts.append(_context(key, names, mechanism))
            kernel, moved = mechanism.kernel, places.astype(self.dtype)
            if mechanism.shape[0] * mechanism.shape[1] <= _BY_ENTRIES:
                self._place[number] = len(entries)
                weights, bits = kernel.weights, kernel.bits()
                entries.append((weights, bits, moved) if bits else (2 * weights, 1, moved))
            else:
                self._other[number] = (mechanism.sampler, kernel.bits(), moved)
        self._entries = InverseSampler(entries) if entries else None

    def draw(self, codes: Array, people: ByteTexts) -> Array:
        """Return the outcome of each row, by the number of its cell times the number of values, plus its value."""
        cells, values = np.divmod(codes.astype(np.intp), self._size)
        words = self._words.words(people, self._contexts, cells, values)
        if not self._other:
            assert self._entries is not None
            return self._entries.draw_from_words(self._place[cells] * self._size + values, words)
        drawn = np.empty(codes.size, self.dtype)
        if self._entries is not None:
            rows = np.flatnonzero(self._place[cells] >= 0)
            drawn[rows] = self._entries.draw_from_words(
                self._place[cells[rows]] * self._size + values[rows], words[rows]
            )
        for number, (sampler, bits, outcomes) in self._other.items():
            rows = np.flatnonzero(cells == number)
            if rows.size:
                leading = words[rows] >> np.uint64(64 - bits)
                drawn[rows] = outcomes[sampler.draw_from_words(values[rows], leading)]
        return drawn


def _context(key: MemoKey, names: Sequence[Hashable], mechanism: Mechanism) -> bytes:
    """Return 16 bytes for the columns and the mechanism, which is all that a draw depends on but person and value."""
    columns = json.dumps([str(name) for name in names]).encode()
    return key.derived(b"context", columns, *_described(mechanism), size=16)


def _described(mechanism: Mechanism) -> tuple[bytes, ...]:
    """Return the mechanism as bytes: equal for equal labels and equal probabilities, and for no others.

    These bytes never change: another description of the same mechanism would be another draw.
    """
    labels = [[label_to_plain(label) for label in side] for side in (mechanism.inputs, mechanism.outputs)]
    named = json.dumps(labels, ensure_ascii=True, separators=(",", ":")).encode()
    kernel = mechanism.kernel
    if mechanism.shape[0] * mechanism.shape[1] <= _BY_ENTRIES:
        return named, b"entries", *_integers(kernel.weights, kernel.bits())
    from leakwise.mechanism import CodeKernel, CommonLawKernel

    if isinstance(kernel, CommonLawKernel):
        return named, b"common", *_integers(kernel.common, kernel.bits())
    assert isinstance(kernel, CodeKernel)
    places = f"{kernel.places.q},{kernel.places.raised},{kernel.places.digits}".encode()
    words = kernel.words.astype("<u8").tobytes()
    return named, b"code", places, words, *_integers(kernel.low, kernel.bits()), *_integers(kernel.step, kernel.bits())


def _integers(weights: Array, bits: int) -> tuple[bytes, bytes]:
    """Return weights over 2**64 modulo 2**64, and which of them are zero: 2**64 itself is told from 0 by that."""
    if weights.dtype == np.object_ or bits == 0:
        scaled = np.array([(int(one) << (64 - bits)) % (1 << 64) for one in weights.ravel()], dtype=np.uint64)
    else:
        scaled = weights.astype(np.uint64).ravel() << np.uint64(64 - bits)
    return scaled.astype("<u8").tobytes(), np.packbits((weights != 0).ravel()).tobytes()
