"""Keyed words: a function of all that they depend on, and the cipher's own message authentication code."""

from __future__ import annotations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from leakwise.errors import InvalidInput
from leakwise.sampling import ByteTexts, KeyedWords

KEY = bytes(range(32))


def by_the_book(key: bytes, context: bytes, code: int, text: bytes) -> int:
    """CBC-MAC by the cipher's own chaining, one message at a time."""
    message = len(text).to_bytes(8, "little") + code.to_bytes(8, "little") + context
    message += text + bytes(-len(text) % 16)
    chained = Cipher(algorithms.AES(key), modes.CBC(bytes(16))).encryptor().update(message)
    return int.from_bytes(chained[-16:-8], "little")


def words(texts: list[bytes], codes: list[int], contexts: list[bytes], places: list[int]) -> list[int]:
    found = KeyedWords(KEY).words(ByteTexts.of(texts), contexts, np.array(places), np.array(codes, dtype=np.uint64))
    return [int(word) for word in found]


@given(
    st.lists(st.tuples(st.binary(max_size=50), st.integers(0, 2**64 - 1), st.integers(0, 2)), min_size=1, max_size=20)
)
def test_words_are_the_message_authentication_code_of_all_that_they_depend_on(rows):
    contexts = [bytes([number] * 16) for number in range(3)]
    found = words(*([list(part) for part in zip(*rows, strict=True)][:2]), contexts, [row[2] for row in rows])
    assert found == [by_the_book(KEY, contexts[place], code, text) for text, code, place in rows]


def test_a_text_is_not_mistaken_for_another_with_zeros_behind_it():
    texts = [b"ab", b"ab\0", b"ab" + bytes(14), b"ab" + bytes(15), b"", bytes(16)]
    assert len(set(words(texts, [0] * 6, [bytes(16)], [0] * 6))) == 6


def test_rows_of_several_blocks_are_as_rows_alone():
    rows = 300_000
    texts = ByteTexts.of([b"%d" % number for number in range(rows)])
    found = KeyedWords(KEY).words(texts, [bytes(16)], np.zeros(rows, int), np.zeros(rows, int))
    for row in (0, 131_071, 131_072, rows - 1):
        assert int(found[row]) == by_the_book(KEY, bytes(16), 0, b"%d" % row)


def test_every_byte_of_the_words_is_uniform():
    rows = 200_000
    texts = ByteTexts.of([b"%d" % number for number in range(rows)])
    found = KeyedWords(KEY).words(texts, [bytes(16)], np.zeros(rows, int), np.zeros(rows, int))
    for counts in (np.bincount(column, minlength=256) for column in found.view(np.uint8).reshape(-1, 8).T):
        assert chi2.sf(((counts - rows / 256) ** 2 / (rows / 256)).sum(), 255) > 1e-9


@pytest.mark.parametrize("key", [b"", bytes(31), "x" * 32])
def test_a_key_has_32_bytes(key):
    with pytest.raises(InvalidInput, match="32 bytes"):
        KeyedWords(key)


def test_the_key_is_not_shown():
    assert "1" not in repr(KeyedWords(KEY))
