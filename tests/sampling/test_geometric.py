"""Two-sided geometric noise: exact trials, the right frequencies, and nothing but the stream as its source."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from leakwise.errors import InvalidInput, UnsafeSeedWarning
from leakwise.sampling import SecureStream
from leakwise.sampling.geometric import _geometric, two_sided_geometric


class Words:
    """A stream that hands out given words."""

    def __init__(self, words: list[int]) -> None:
        self.left = words

    def words(self, count: int, bits: int) -> np.ndarray:
        taken, self.left = self.left[:count], self.left[count:]
        return np.array(taken, dtype=np.uint8)


def test_a_draw_counts_the_words_below_the_threshold_before_one_is_not() -> None:
    first, second = [0, 1, 2, 3] + [0] * 60, [3] + [0] * 63
    assert _geometric(3, 2, 2, Words([*first, *second])).tolist() == [3, 0]
    # Where all trials of a draw succeed, it goes on with others.
    assert _geometric(3, 2, 2, Words([*([0] * 64), *second, *first])).tolist() == [67, 0]


@pytest.mark.parametrize("ratio", [Fraction(1, 2), Fraction(7, 8), Fraction(4249335921, 1 << 32)])
def test_every_number_is_as_frequent_as_the_formula_says(ratio: Fraction) -> None:
    count, alpha = 400_000, float(ratio)
    with pytest.warns(UnsafeSeedWarning):
        drawn = two_sided_geometric(ratio, count, SecureStream(unsafe_seed=5))
    for k in (-9, -2, -1, 0, 1, 2, 9):
        expected = (1 - alpha) / (1 + alpha) * alpha ** abs(k)
        seen = float((drawn == k).mean())
        assert abs(seen - expected) < 5 * np.sqrt(expected / count), k


def test_without_a_ratio_nothing_is_added() -> None:
    assert two_sided_geometric(Fraction(0), 5).tolist() == [0] * 5


@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(-1, 2), Fraction(1, 3), Fraction(1, 1 << 65)])
def test_other_ratios_are_refused(ratio: Fraction) -> None:
    with pytest.raises(InvalidInput, match="ratio must be at least 0 and below 1, over a power of two"):
        two_sided_geometric(ratio, 1)
