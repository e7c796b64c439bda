"""A kernel for thousands of letters: each is a word of a linear code, each outcome a place of the words and a symbol.

Letters are different vectors over a prime q with m digits. At a *place* (a linear function of the digits, one of R) a
letter has a symbol; the outcome (r, b) is the window of the d symbols b, b+1, … at the place r. Any two letters have
the same symbol at equally many places, and different ones evenly spread, so that all pairs are treated alike: the
frequencies come back without solving equations. Nothing of the size N × M is kept, only the words and what the windows
weigh.
"""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.exact import IntegerArray, integer_array, integer_product, ratio_array
from leakwise.mechanism.kernel import DenseKernel, Kernel, refuse_large
from leakwise.types import Array, Bools, Counts, Floats, Indices

if TYPE_CHECKING:
    from leakwise.sampling import CodeSampler

__all__ = ["PRIMES", "CodeKernel", "Places", "places_of"]

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61)
_LIMB = 26  # bits: sums of so many letters as there can be stay exact in doubles
_MOST_WORDS = 1 << 26


class Places:
    """The places of the words over q with so many digits, for windows of ``raised`` symbols."""

    def __init__(self, q: int, digits: int, raised: int) -> None:
        if q not in PRIMES or not 1 <= raised < q or digits < 1 or q**digits > _MOST_WORDS:
            raise InvalidInput(
                f"A code needs a prime of symbols up to {PRIMES[-1]}, windows of fewer symbols than that, and at most "
                f"{_MOST_WORDS:,} words. Got {q} symbols, windows of {raised} and {digits} digits."
            )
        self.q, self.digits, self.raised = q, digits, raised
        # Windows of several symbols need every multiple of a function, up to the sign, to spread differences evenly.
        self.multiples = 1 if raised in (1, q - 1) else (q - 1) // 2

    @property
    def lines(self) -> int:
        """How many linear functions there are up to multiples."""
        return int((self.q**self.digits - 1) // (self.q - 1))

    @property
    def count(self) -> int:
        """How many places there are."""
        return self.multiples * self.lines

    @cached_property
    def functions(self) -> Counts:
        """The coefficients of the functions, a row for each place: the last that is not zero is the multiple."""
        rows = []
        for multiple, leading in itertools.product(range(1, self.multiples + 1), range(self.digits)):
            numbers = np.arange(self.q**leading)
            block = np.zeros((len(numbers), self.digits), dtype=np.int64)
            block[:, :leading] = (numbers[:, None] // self.q ** np.arange(leading)) % self.q
            block[:, leading] = 1
            rows.append(block * multiple % self.q)
        return np.concatenate(rows)

    def by_symbol(self, words: Counts, values: Floats, joined: np.ufunc) -> Floats:
        """Return the values of the words with each symbol, joined (added, or the least of them): places × q.

        Added integers stay exact, as long as doubles hold the sums.
        """
        nothing = np.inf if joined is np.minimum else 0.0
        table = np.full((self.q**self.digits, self.q), nothing)
        table[words, 0] = values
        return self._digit_by_digit(table, -1, joined, nothing)[self._numbers]

    def by_word(self, tables: Floats) -> Floats:
        """Return for each word the sum over the places of what the table (places × q) has for its symbol there."""
        table = np.zeros((self.q**self.digits, self.q))
        table[self._numbers] = tables
        return self._digit_by_digit(table, 1, np.add, 0.0)[:, 0]

    def _digit_by_digit(self, table: Floats, sign: int, joined: np.ufunc, nothing: float) -> Floats:
        """Σ_w table[w, s ± f·w] for every function f and symbol s: q passes for each digit, and none over all pairs."""
        q = self.q
        for digit in range(self.digits):
            parts = table.reshape(-1, q, q**digit, q)
            following = np.full((len(parts), q**digit, q, q), nothing)  # by the function's digit and the symbol
            for value in range(q):
                turned = (np.arange(q) + sign * value * np.arange(q)[:, None]) % q
                joined(following, parts[:, value][:, :, turned], out=following)
            table = following.swapaxes(1, 2).reshape(-1, q)
        return table

    @cached_property
    def _numbers(self) -> Indices:
        """Where the functions of the places are among all functions, counted as words are."""
        return (self.functions @ self.q ** np.arange(self.digits)).astype(np.intp)

    def spelled(self, words: Counts) -> Counts:
        """Return the digits of words, a row for each."""
        spelled: Counts = (words[:, None] // self.q ** np.arange(self.digits)) % self.q
        return spelled


def places_of(size: int, q: int, raised: int) -> Places:
    """Return the places of the shortest words over q that so many letters have."""
    digits = next(digits for digits in itertools.count(1) if q**digits >= size)
    return Places(q, digits, raised)


class CodeKernel(Kernel):
    """weight of (r, b) for a letter: low[r, b], and step[r] more where its symbol at r is in the window from b on.

    Rows add up to Σ low + d·Σ step, whatever the letter; what is left of the denominator is a last outcome that tells
    nothing.
    """

    def __init__(self, places: Places, words: Array, low: Array, step: Array, denominator: int) -> None:
        # Checked as Python integers, before words of a stranger's file can overflow.
        given = [int(word) for word in words.tolist()]
        if not given or len(set(given)) < len(given) or not 0 <= min(given) <= max(given) < places.q**places.digits:
            raise InvalidInput(
                f"The words of a code must be different numbers from 0 to {places.q**places.digits - 1}, one for each "
                "letter."
            )
        if low.shape != (places.count, places.q) or step.shape != (places.count,):
            raise InvalidInput(
                f"A code with {places.count} places and {places.q} symbols needs that many weights. Got {low.shape} "
                f"and {step.shape}."
            )
        lows, steps = low.ravel().tolist(), step.tolist()
        rest = denominator - sum(lows) - places.raised * sum(steps)
        if min(lows) < 0 or min(steps) < 0 or rest < 0:
            raise InvalidInput("The weights of a code must not be negative, nor add up to more than the denominator.")
        self.places, self.denominator, self.rest = places, denominator, rest
        self.words = np.array(given, dtype=np.int64)
        self.low, self.step = integer_array(low, denominator), integer_array(step, denominator)
        self.shape = (len(given), places.count * places.q + (rest > 0))

    @property
    def key(self) -> tuple[object, ...]:
        """All its numbers: two kernels with one key are the same."""
        places = self.places
        numbers = (tuple(array.ravel().tolist()) for array in (self.words, self.low, self.step))
        return (places.q, places.digits, places.raised, self.denominator, *numbers)

    # -- sums over symbols ----------------------------------------------------------------------------------------

    def by_symbol(self, values: Floats) -> Floats:
        """Return the sums of values (N × k) over the letters with each symbol: places × q × k."""
        return np.stack([self.places.by_symbol(self.words, column, np.add) for column in values.T], axis=2)

    def by_letter(self, tables: Floats) -> Floats:
        """Return the sums over all places of table[r, symbol of the letter at r]: N × k, of places × q × k."""
        each = [self.places.by_word(tables[:, :, k])[self.words] for k in range(tables.shape[2])]
        return np.stack(each, axis=1)

    def first_of(self, order: Indices) -> Indices:
        """Return for each place and symbol the first letter in this order that has it there, -1 where none has."""
        first = self.places.by_symbol(self.words[order], np.arange(len(order), dtype=np.float64), np.minimum)
        there = np.isfinite(first)
        return np.where(there, order[np.where(there, first, 0).astype(np.intp)], -1)

    def windows(self, sums: Array) -> Array:
        """Return sums over the symbols of each window, of those over each symbol (places × q × …)."""
        return sum((np.roll(sums, -turn, axis=1) for turn in range(self.places.raised)), start=0 * sums)

    def covering(self, tables: Array) -> Array:
        """Return for each symbol the sum over the windows that hold it, of what is given for each window."""
        return sum((np.roll(tables, turn, axis=1) for turn in range(self.places.raised)), start=0 * tables)

    def window_sums(self, weights: IntegerArray) -> Array:
        """Return Σ of integer weights over the letters in each window, exact: doubles add limbs without rounding."""
        numbers = [int(weight) for weight in weights.tolist()]
        count = max(1, -(-max(numbers).bit_length() // _LIMB))
        mask = (1 << _LIMB) - 1
        limbs = np.array([[(number >> _LIMB * k) & mask for k in range(count)] for number in numbers], dtype=float)
        sums = self.windows(self.by_symbol(limbs)).astype(np.int64).astype(np.object_)
        found: Array = sum((sums[:, :, k] << (_LIMB * k) for k in range(count)), start=0 * sums[:, :, 0])
        return found

    def _with_rest(self, windows: Array, rest: int) -> IntegerArray:
        last = [rest] if self.rest else []
        return np.concatenate([windows.reshape(-1), np.array(last, dtype=windows.dtype)])

    @cached_property
    def _held(self) -> Counts:
        """How many letters each window holds."""
        return self._counted(np.ones(len(self.words), dtype=np.bool_))

    def _counted(self, rows: Bools) -> Counts:
        counts: Counts = self.windows(self.by_symbol(rows[:, None].astype(np.float64)))[:, :, 0].astype(np.int64)
        return counts

    # -- what a kernel answers ------------------------------------------------------------------------------------

    @property
    def weights(self) -> IntegerArray:
        refuse_large(
            *self.shape, "The leakage, the certificate, the draws and the estimates of this mechanism need no matrix."
        )
        found = np.stack([self.row(code) for code in range(self.shape[0])])
        found.flags.writeable = False
        return found

    def column_max(self, rows: Bools | None = None) -> IntegerArray:
        held = self._held if rows is None else self._counted(rows)
        return self._with_rest(self.low + self.step[:, None] * (held > 0), self.rest)

    def column_min(self, rows: Bools | None = None) -> IntegerArray:
        held, count = (self._held, len(self.words)) if rows is None else (self._counted(rows), int(rows.sum()))
        return self._with_rest(self.low + self.step[:, None] * (held == count), self.rest)

    def output_law(self, prior: IntegerArray) -> list[int]:
        total = sum(int(weight) for weight in prior.tolist())
        inside = self.window_sums(prior)
        law = self.low.astype(np.object_) * total + self.step.astype(np.object_)[:, None] * inside
        return [int(mass) for mass in self._with_rest(law, self.rest * total).tolist()]

    def output_law_floats(self, prior: IntegerArray, total: int) -> Floats:
        return ratio_array(np.array(self.output_law(prior), dtype=np.object_), self.denominator * total)

    def row(self, code: int) -> IntegerArray:
        digits = self.places.spelled(self.words[[code]])[0]
        symbols = self.places.functions @ digits % self.places.q
        inside = (symbols[:, None] - np.arange(self.places.q)) % self.places.q < self.places.raised
        return self._with_rest(self.low + self.step[:, None] * inside, self.rest)

    def holds(self, outcome: int) -> Bools:
        """Return which letters are in the window of an outcome: those that it makes more likely."""
        place, symbol = divmod(outcome, self.places.q)
        if place == self.places.count:  # the rest, which tells nothing
            return np.zeros(len(self.words), dtype=np.bool_)
        symbols = self.places.spelled(self.words) @ self.places.functions[place]
        inside: Bools = (symbols - symbol) % self.places.q < self.places.raised
        return inside

    def then(self, later: Kernel) -> Kernel:
        return DenseKernel(integer_product(self.weights, later.weights), self.denominator * later.denominator)

    def dyadic(self, bits: int) -> Kernel:
        return self if self.denominator == 1 << bits else DenseKernel(self.weights, self.denominator).dyadic(bits)

    def take_rows(self, order: Indices) -> Kernel:
        if len(set(order.tolist())) == len(order):
            return CodeKernel(self.places, self.words[order], self.low, self.step, self.denominator)
        return DenseKernel(self.weights[order], self.denominator)

    def sampler(self) -> CodeSampler:
        from leakwise.sampling import CodeSampler

        places = self.places
        symbols = places.q, places.raised
        return CodeSampler(places.spelled(self.words), places.functions, *symbols, self.low, self.step, self.bits())
