"""What the sampler tests share: walks through all words, and the exact law recovered at full width."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import chdtrc

from leakwise.sampling import SecureStream


class WalkingStream(SecureStream):
    """Hands out every leading word equally often and in order, then every remainder in turn."""

    __slots__ = ("_led",)

    def __init__(self) -> None:
        super().__init__(unsafe_seed=0)
        self._led = False

    def words(self, count: int, bits: int, out: NDArray[Any] | None = None) -> NDArray[Any]:
        result = super().words(count, bits, out)
        order = np.arange(count)
        result[:] = order % (1 << bits) if self._led else (order << bits) // count
        self._led = True
        return result


def recovered_law(draw: Callable[[int], int], cuts: list[int], outcomes: int) -> list[int]:
    """How many words stand for each outcome, by bisection between cuts where the outcome never falls."""
    counts = [0] * outcomes
    for begin, end in pairwise(cuts):
        edges = [begin]
        for outcome in range(1, outcomes):
            low, high = edges[-1], end
            while low < high:
                middle = (low + high) // 2
                low, high = (low, middle) if draw(middle) >= outcome else (middle + 1, high)
            edges.append(low)
        edges.append(end)
        for outcome in range(outcomes):
            counts[outcome] += edges[outcome + 1] - edges[outcome]
    return counts


def fit(counts: NDArray[Any], probabilities: NDArray[Any]) -> float:
    """The p-value of Pearson's test of the outcome counts of each row; impossible outcomes must not occur."""
    assert counts[probabilities == 0].sum() == 0
    expected = counts.sum(axis=1, keepdims=True) * probabilities
    assert expected[probabilities > 0].min() > 20, "too few draws for the chi-square law"
    possible = expected > 0
    statistic = ((counts - expected)[possible] ** 2 / expected[possible]).sum()
    return float(chdtrc(possible.sum() - len(counts), statistic))


@pytest.fixture(scope="session")
def tools() -> Any:
    class Tools:
        walk = WalkingStream
        law = staticmethod(recovered_law)
        p_value = staticmethod(fit)

    return Tools
