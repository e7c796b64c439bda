"""The key file: made for its owner alone, refused where others can read it, never shown."""

from __future__ import annotations

import copy
import os
import pickle
import stat

import pytest

import leakwise as lw


def test_a_new_key_file_is_for_its_owner_alone(tmp_path):
    before = os.umask(0)
    try:
        key = lw.MemoKey.create(tmp_path / "key.bin")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "key.bin").stat().st_mode) == 0o600
    assert lw.MemoKey(tmp_path / "key.bin").fingerprint == key.fingerprint


def test_a_key_file_is_never_replaced(tmp_path):
    first = lw.MemoKey.create(tmp_path / "key.bin").fingerprint
    with pytest.raises(lw.InvalidInput, match="exists already"):
        lw.MemoKey.create(tmp_path / "key.bin")
    assert lw.MemoKey(tmp_path / "key.bin").fingerprint == first


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o666])
def test_a_key_file_that_others_can_read_is_refused(tmp_path, mode):
    lw.MemoKey.create(tmp_path / "key.bin")
    (tmp_path / "key.bin").chmod(mode)
    with pytest.raises(lw.InvalidInput, match=f"others can read or write .* {mode:04o}"):
        lw.MemoKey(tmp_path / "key.bin")


def test_a_link_to_a_key_file_that_others_can_read_is_refused_too(tmp_path):
    lw.MemoKey.create(tmp_path / "key.bin")
    (tmp_path / "key.bin").chmod(0o644)
    (tmp_path / "link.bin").symlink_to(tmp_path / "key.bin")
    with pytest.raises(lw.InvalidInput, match="others can read"):
        lw.MemoKey(tmp_path / "link.bin")


def test_a_missing_key_file_is_not_made_in_passing(tmp_path):
    with pytest.raises(lw.InvalidInput, match=r"memo-key .*every value is drawn again"):
        lw.release({"id": [1], "s": ["a"]}, lw.identity(["a"]), "s", memo=tmp_path / "kye.bin", person="id")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("change", ["cut", "longer", "another", "bit"])
def test_a_damaged_key_file_is_refused(tmp_path, change):
    """Any other key would draw every value again."""
    path = tmp_path / "key.bin"
    lw.MemoKey.create(path)
    content = path.read_bytes()
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    path.write_bytes({"cut": content[:-1], "longer": content + b"x", "another": b"x" * 60, "bit": flipped}[change])
    with pytest.raises(lw.InvalidInput, match="not a key file of Leakwise, or it is damaged"):
        lw.MemoKey(path)


def test_the_key_is_in_its_file_alone(tmp_path):
    key = lw.MemoKey.create(tmp_path / "key.bin")
    secret = (tmp_path / "key.bin").read_bytes()[20:52]
    assert key.fingerprint in repr(key)
    assert secret.hex() not in repr(key) + repr(vars(type(key)))
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(lw.LeakwiseError, match="cannot be copied or pickled"):
            copied(key)


def test_what_is_derived_depends_on_purpose_and_parts(tmp_path):
    key = lw.MemoKey.create(tmp_path / "key.bin")
    asked = [(b"a",), (b"b",), (b"a", b""), (b"a", b"xy"), (b"a", b"x", b"y"), (b"a", b"", b"xy")]
    assert len({key.derived(*one, size=16) for one in asked}) == len(asked)
