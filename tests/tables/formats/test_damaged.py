"""Damaged and odd files: a slice of the campaign ``readers`` of ``make attack``, and what it has found."""

from __future__ import annotations

import pytest
from readers import readers
from run import randomness

# Buffers of Arrow beyond their ends, values and names that are not in UTF-8, a carriage return inside a field.
FOUND = [247, 593, 1040, 2879, 6278, 9706, 13982, 14077, 20677]


@pytest.mark.parametrize("case", FOUND)
def test_cases_that_were_found(case: int) -> None:
    readers(randomness("readers", case))


def test_a_slice_of_the_campaign() -> None:
    for case in range(1_000_000, 1_000_150):
        readers(randomness("readers", case))
