"""Codes in, codes out: the law is the mechanism's, the order is kept, no stream is used twice."""

from __future__ import annotations

import threading
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

import leakwise as lw
from leakwise.sampling import SecureStream
from leakwise.tables.release import draw as module
from leakwise.tables.release.draw import draw_codes, seeded_stream

FALSE_ALARM = 1e-9

STRUCTURED = lw.randomized_response(["a", "b", "c"], lift=5)
DENSE = lw.Mechanism([["1/2", "1/4", "1/4", 0], [0, 0, "1/8", "7/8"], ["1/4", "1/4", "1/4", "1/4"]])


def chi_square_level(mechanism: lw.Mechanism, letters: np.ndarray, outcomes: np.ndarray) -> float:
    """The p-value of the joint counts of letters and outcomes, given the letters."""
    statistic, degrees = 0.0, 0
    for code, row in enumerate(mechanism.matrix):
        seen = np.bincount(outcomes[letters == code], minlength=row.size)
        assert not seen[row == 0].any()
        expected = row[row > 0] * (letters == code).sum()
        statistic += float(((seen[row > 0] - expected) ** 2 / expected).sum())
        degrees += int((row > 0).sum()) - 1
    return float(chi2.sf(statistic, degrees))


@pytest.mark.parametrize("mechanism", [STRUCTURED, DENSE], ids=["structured", "dense"])
@pytest.mark.parametrize("chunk", [1 << 20, 1 << 14], ids=["one thread", "many threads"])
def test_the_law_is_that_of_the_mechanism(mechanism, chunk, monkeypatch):
    # False alarm: 1e-9 for each of the four cases.
    monkeypatch.setattr(module, "_CHUNK", chunk)
    monkeypatch.setattr(module, "_cores", lambda: 4)
    letters = np.arange(300_000, dtype=np.uint32) % 3
    outcomes = draw_codes(letters, mechanism.sampler)
    assert outcomes.dtype == np.uint8
    assert chi_square_level(mechanism, letters, outcomes) > FALSE_ALARM


def test_rows_keep_their_order_across_threads(monkeypatch):
    monkeypatch.setattr(module, "_CHUNK", 1000)
    monkeypatch.setattr(module, "_cores", lambda: 4)
    letters = np.random.default_rng(1).integers(0, 300, 54_321)
    outcomes = draw_codes(letters, lw.identity(300).sampler)
    assert outcomes.dtype == np.uint16
    assert np.array_equal(outcomes, letters)


def test_every_thread_has_a_stream_of_its_own(monkeypatch):
    monkeypatch.setattr(module, "_CHUNK", 100)
    monkeypatch.setattr(module, "_cores", lambda: 3)
    # Three chunks that wait for one another force three threads to work at the same time.
    barrier = threading.Barrier(3, timeout=30)
    streams: dict[int, SecureStream] = {}

    class Watched:
        dtype = np.dtype(np.uint8)

        def draw(self, codes, stream, out):
            streams[threading.get_ident()] = stream
            barrier.wait()
            out[:] = codes
            return out

    outcomes = module.draw_codes(np.arange(250, dtype=np.uint8), Watched())
    assert np.array_equal(outcomes, np.arange(250))
    assert len(streams) == 3
    assert len({id(stream) for stream in streams.values()}) == 3


def test_a_seed_repeats_and_its_absence_does_not(monkeypatch):
    monkeypatch.setattr(module, "_CHUNK", 100)
    monkeypatch.setattr(module, "_cores", lambda: 4)
    letters = np.zeros(2000, dtype=np.uint8)
    first, again, other = (draw_codes(letters, STRUCTURED.sampler, seeded_stream(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    # Equal by chance: less than 2^-1000.
    assert not np.array_equal(draw_codes(letters, STRUCTURED.sampler), draw_codes(letters, STRUCTURED.sampler))


def test_an_error_in_a_thread_comes_up(monkeypatch):
    monkeypatch.setattr(module, "_CHUNK", 10)
    monkeypatch.setattr(module, "_cores", lambda: 2)
    with pytest.raises(lw.InvalidInput, match="from 0 to 2"):
        draw_codes(np.array([0] * 30 + [3]), STRUCTURED.sampler)


def test_bad_codes_and_mechanisms():
    with pytest.raises(lw.InvalidInput, match="one dimension"):
        draw_codes(np.zeros((2, 2), dtype=np.uint8), STRUCTURED.sampler)
    with pytest.raises(lw.InvalidInput, match=r"dyadic\(60\)"):
        draw_codes([0], lw.Mechanism([[Fraction(1, 3), Fraction(2, 3)]]).sampler)


def test_nothing_gives_nothing():
    assert draw_codes([], STRUCTURED.sampler).size == 0


def test_cores_are_those_of_this_process(monkeypatch):
    assert module._cores() >= 1
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    assert module._cores() >= 1
