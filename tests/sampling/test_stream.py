"""The key stream: uniform, and never the same twice."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from scipy.special import chdtrc

from leakwise.errors import InvalidInput, LeakwiseError
from leakwise.sampling import SecureStream, stream, stream_for_this_thread

# A right sampler fails a goodness-of-fit test of this file once in a million runs.
FALSE_ALARM = 1e-6

CHILDREN = """
import multiprocessing, os, threading
from leakwise.sampling import SecureStream, stream_for_this_thread

shared = SecureStream()

def piece(_=None):
    taken = bytearray(64)
    stream_for_this_thread().fill(taken)
    again = bytearray(64)
    shared.fill(again)
    return taken.hex() + again.hex()

def in_fork(grandchildren):
    reader, writer = os.pipe()
    if os.fork() == 0:
        lines = [piece(), piece()] + [line for _ in range(grandchildren) for line in in_fork(0)]
        os.write(writer, "\\n".join(lines).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as lines:
        found = lines.read().split()
    os.wait()
    return found

if __name__ == "__main__":
    print(piece())
    for line in in_fork(2) + in_fork(0):
        print(line)
    print(piece())
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(*pool.map(piece, range(6), chunksize=1), sep="\\n")
    print(piece())
"""


def cipher_blocks(data: bytes) -> list[bytes]:
    return [data[start : start + 16] for start in range(0, len(data), 16)]


def take(source: SecureStream, count: int) -> bytes:
    buffer = bytearray(count)
    source.fill(buffer)
    return bytes(buffer)


def test_no_block_repeats_across_processes_and_forks(tmp_path: Path) -> None:
    script = tmp_path / "children.py"
    script.write_text(CHILDREN)
    run = subprocess.run(
        [sys.executable, "-W", "error", str(script)], capture_output=True, text=True, check=True, timeout=120
    )
    pieces = run.stdout.split()
    assert len(pieces) == 3 + (2 + 2 * 2) + 2 + 12
    found = [block for line in pieces for block in cipher_blocks(bytes.fromhex(line))]
    assert len(set(found)) == len(found)


def test_no_block_repeats_across_chunks_calls_and_threads() -> None:
    pieces: list[bytes] = []
    streams: list[SecureStream] = []

    def work() -> None:
        own = stream_for_this_thread()
        streams.append(own)
        pieces.extend(take(own, 1 << 18) for _ in range(2))  # a fill of two chunks, twice

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    work()
    found = [block for piece in pieces for block in cipher_blocks(piece)]
    assert len(found) == 5 * 2 * (1 << 14)
    assert len(set(found)) == len(found)
    assert len({id(own) for own in streams}) == 5


def test_a_child_with_a_reused_process_id_takes_a_new_key(tmp_path: Path) -> None:
    script = tmp_path / "children.py"
    forked = CHILDREN.replace('if __name__ == "__main__":', "os.getpid = lambda: 7\nif True:")
    script.write_text(forked[: forked.index("    for method in")])
    run = subprocess.run(
        [sys.executable, "-W", "error", str(script)], capture_output=True, text=True, check=True, timeout=120
    )
    pieces = run.stdout.split()
    assert len(pieces) == 2 + (2 + 2 * 2) + 2
    found = [block for line in pieces for block in cipher_blocks(bytes.fromhex(line))]
    assert len(set(found)) == len(found)


def test_a_fork_that_python_did_not_see_is_noticed_by_its_process_id(monkeypatch: pytest.MonkeyPatch) -> None:
    source = SecureStream()
    before = source._cipher
    take(source, 16)
    assert source._cipher is before
    monkeypatch.setattr(os, "getpid", lambda: -1)
    take(source, 16)
    assert source._cipher is not before


def test_a_key_is_replaced_when_it_has_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "_BYTES_PER_KEY", 64)
    for source in (SecureStream(), SecureStream(unsafe_seed=3)):
        ciphers = []
        found = []
        for _ in range(8):
            found += cipher_blocks(take(source, 32))
            ciphers.append(source._cipher)
        assert len(set(map(id, ciphers))) == 4
        assert len(set(found)) == len(found)


def test_the_words_do_not_depend_on_how_they_are_asked_for() -> None:
    whole = take(SecureStream(unsafe_seed=5), 300_000)
    parts = SecureStream(unsafe_seed=5)
    assert b"".join(take(parts, size) for size in (1, 15, 17, 99_967, 200_000)) == whole


def test_a_seed_repeats_and_its_absence_does_not() -> None:
    first = SecureStream(unsafe_seed=11).words(1000, 64)
    assert (SecureStream(unsafe_seed=11).words(1000, 64) == first).all()
    assert not (SecureStream(unsafe_seed=12).words(1000, 64) == first).any()
    assert not (SecureStream().words(1000, 64) == SecureStream().words(1000, 64)).any()


@pytest.mark.parametrize("bits", [1, 3, 8, 9, 16, 17, 32, 33, 64])
def test_words_are_uniform(bits: int) -> None:
    words = SecureStream().words(1_000_000, bits)
    assert words.dtype.itemsize == next(size for size in (1, 2, 4, 8) if bits <= 8 * size)
    for shift in {0, max(0, bits - 8)}:  # the lowest and the highest bits
        kept = min(bits, 8)
        counts = np.bincount(((words >> shift) & (2**kept - 1)).astype(np.intp), minlength=2**kept)
        assert counts.size == 2**kept
        expected = words.size / 2**kept
        assert chdtrc(2**kept - 1, ((counts - expected) ** 2 / expected).sum()) > FALSE_ALARM / 2
    assert int(words.max()).bit_length() <= bits


def test_words_of_no_bits_and_no_words() -> None:
    source = SecureStream()
    assert source.words(3, 0).tolist() == [0, 0, 0]
    assert source.words(0, 16).size == 0
    out = np.empty(4, np.uint16)
    assert source.words(4, 12, out=out) is out
    assert out.max() < 1 << 12


def test_a_stream_is_neither_copied_nor_pickled_nor_printed() -> None:
    source = SecureStream()
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(LeakwiseError, match="cannot be copied or pickled"):
            attempt(source)
    assert repr(source) == "SecureStream()"
    assert "77" not in repr(SecureStream(unsafe_seed=77))
    assert not hasattr(source, "__dict__")


@pytest.mark.parametrize("seed", [-1, 1.5, True, "7"])
def test_a_seed_must_be_a_count(seed: object) -> None:
    with pytest.raises(InvalidInput, match="unsafe_seed must be a non-negative int"):
        SecureStream(unsafe_seed=seed)  # type: ignore[arg-type]


def test_bad_buffers_and_widths() -> None:
    source = SecureStream()
    with pytest.raises(InvalidInput, match="writable"):
        source.fill(bytes(4))
    with pytest.raises(InvalidInput, match="contiguous"):
        source.fill(np.empty(8, np.uint8)[::2])
    with pytest.raises(InvalidInput, match="from 0 to 64"):
        source.words(1, 65)
    with pytest.raises(InvalidInput, match="out must be an array of 3 words of uint16"):
        source.words(3, 12, out=np.empty(3, np.uint32))
    with pytest.raises(InvalidInput, match="Got 2 of uint16"):
        source.words(3, 12, out=np.empty(2, np.uint16))
