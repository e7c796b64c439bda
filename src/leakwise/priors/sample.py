"""What a sample is made of: counts, the number of its sets, and logarithms on the safe side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from leakwise.alphabet import Alphabet
from leakwise.errors import InvalidInput
from leakwise.exact import log_upper
from leakwise.priors.prior import Prior

__all__ = ["cell_of", "coarse_prior", "counts_of", "half_of_counts", "log_subsets_upper", "log_up", "rounded_parts"]

# The subset sums of a sample are kept as the bits of one integer, shifted once per letter.
_MOST_BIT_SHIFTS = 4_000_000_000


def counts_of(prior: Prior) -> tuple[int, ...]:
    """Return how often each letter was seen; only an empirical prior knows."""
    if prior.sample_size is None:
        raise InvalidInput(
            "This prior does not say how many samples it comes from. Make it with Prior.from_counts(...) or "
            "Prior.from_data(...), or give the radius of the set yourself: prior.ball(beta)."
        )
    repeat, left = divmod(prior.sample_size, prior.denominator)
    if left:
        raise InvalidInput(
            f"The prior says it comes from {prior.sample_size} samples, but its probabilities are not counts over "
            "that number."
        )
    return tuple(int(weight) * repeat for weight in prior.weights)


def log_up(value: Fraction) -> float:
    """Return log(value), never below the truth."""
    return log_upper(value)


def log_subsets_upper(letters: int) -> float:
    """log(2^N - 2), the number of sets that a union bound over all events runs over, rounded up; 0 for one letter.

    >>> round(log_subsets_upper(2), 6), log_subsets_upper(10**6) < 693148
    (0.693147, True)
    """
    if letters < 2:
        return 0.0
    if letters <= 512:
        return log_upper(Fraction(2**letters - 2))
    return letters * math.log(2.0) * (1 + 2.0**-50)


def half_of_counts(counts: tuple[int, ...]) -> Fraction:
    """Return κ of an empirical distribution: the largest min(P(A), 1 - P(A)) over sets of letters, never below it.

    The subset sum of the counts nearest to one half ([ED] section II-B); one half where the sums would not fit.

    >>> half_of_counts((5, 3, 1))
    Fraction(4, 9)
    """
    total = sum(counts)
    middle = total // 2
    positive = sorted((count for count in counts if count), reverse=True)
    if total * len(positive) > _MOST_BIT_SHIFTS:
        return Fraction(1, 2)
    sums = 1  # bit s is set when some letters were seen s times together
    mask = (1 << (middle + 1)) - 1
    for count in positive:
        sums |= (sums << count) & mask
        if sums >> middle:
            return Fraction(middle, total)
    return Fraction(sums.bit_length() - 1, total)


def coarse_prior(counts: Sequence[int], letters: Alphabet) -> Prior:
    """Return the frequencies of a table, rounded to about one part in √n, every declared letter with at least one part.

    No exact count can be read from it, and no letter is taken for impossible because the table happens to lack it.

    >>> coarse_prior([700, 300, 0], Alphabet(["a", "b", "c"])).weights.tolist()
    [22, 9, 1]
    """
    return Prior.from_integers(letters, rounded_parts(counts))


def rounded_parts(counts: Sequence[int]) -> list[int]:
    """Return the parts that counts are rounded to: about √n of them in all, at least one for each letter."""
    rows = sum(counts)
    whole = _whole(rows, len(counts))
    return [max(1, (2 * count * whole + rows) // (2 * rows)) for count in counts]


def cell_of(parts: Sequence[int], rows: int) -> tuple[list[int], list[int]]:
    """Return the least and the largest count of each letter that rounds to its parts in a table of so many rows.

    >>> cell_of(rounded_parts([700, 300, 0]), 1000)
    ([694, 275, 0], [725, 306, 48])
    """
    whole = _whole(rows, len(parts))
    # (2 c whole + rows) // (2 rows) = w from c = rows (2w - 1) / (2 whole) on; without any row, one part all the same.
    low = [0 if weight == 1 else -(-rows * (2 * weight - 1) // (2 * whole)) for weight in parts]
    high = [min(rows, -(-rows * (2 * weight + 1) // (2 * whole)) - 1) for weight in parts]
    return low, high


def _whole(rows: int, letters: int) -> int:
    """How many parts the whole is rounded to: about √n, from the number of rows and of letters alone."""
    return max(2, min(max(math.isqrt(rows), 2 * letters), max(2, rows // 4)))
