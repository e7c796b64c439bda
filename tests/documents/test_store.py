"""Files: whole or not at all, and nothing but InvalidInput from what a stranger hands over."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leakwise.documents import (
    read_document,
    read_integer,
    to_plain,
    write_atomically,
    write_document,
    write_integer,
)
from leakwise.errors import InvalidInput

FORMAT, VERSION = "leakwise.note", 2


class Note(msgspec.Struct, forbid_unknown_fields=True):
    text: str
    number: str
    parts: list[Any]
    size: int | None = None


NOTE = Note('grüße, "x"', write_integer(2**70), ["a", 1, None, {"tuple": [1, 2]}], 7)

# A file is written anew for every example, so that one folder for all of them is safe.
fuzz = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)


def read(path: Path) -> Note:
    return read_document(path, FORMAT, VERSION, Note)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "note.json"
    write_document(target, FORMAT, VERSION, NOTE)
    return target


def test_what_was_written_is_read(path: Path) -> None:
    assert read(path) == NOTE
    assert to_plain(NOTE)["parts"] == NOTE.parts
    envelope = json.loads(path.read_text(encoding="utf-8"))
    assert list(envelope) == ["format", "version", "sha256", "body"]
    assert (envelope["format"], envelope["version"]) == (FORMAT, VERSION)


def test_the_same_body_gives_the_same_bytes(path: Path, tmp_path: Path) -> None:
    write_document(tmp_path / "again.json", FORMAT, VERSION, NOTE)
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


# -- writing ---------------------------------------------------------------------------------------------------


def test_a_file_is_replaced_and_nothing_is_left_aside(tmp_path: Path) -> None:
    target = tmp_path / "file"
    write_atomically(target, b"one")
    write_atomically(str(target), b"two")
    assert target.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_has_the_permissions_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "file", b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "file"
    write_atomically(target, b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InvalidInput, match=r"Cannot write .*No space left"):
        write_atomically(target, b"new")
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_an_interrupt_leaves_nothing_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "file", b"new")
    assert os.listdir(tmp_path) == []


def test_a_process_that_is_killed_leaves_nothing_aside(tmp_path: Path) -> None:
    """The file has no name until it is whole, so that no handler has to run."""
    code = (
        "import os, sys; from leakwise.documents import write_atomically\n"
        "os.fsync = lambda *_: os._exit(9)\n"
        "write_atomically(sys.argv[1], b'new')"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "file")], check=False)
    assert done.returncode == 9
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["missing/file", "folder", "", "zero\0byte", "x" * 300])
def test_where_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(InvalidInput, match="Cannot write"):
        write_atomically(name, b"x")
    assert os.listdir(tmp_path) == ["folder"]


def test_text_that_is_no_unicode_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="not valid Unicode"):
        write_document(tmp_path / "file", FORMAT, VERSION, Note("\ud800", "0x1", []))
    assert os.listdir(tmp_path) == []


# -- reading ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["missing", ".", "zero\0byte"])
def test_unreadable_paths(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="Cannot read"):
        read(tmp_path / name)


def rewrite(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changes}), encoding="utf-8")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 3}, r"newer Leakwise \(format version 3, this one reads up to 2\).*pip install -U"),
        ({"version": 0}, "damaged: 0 is not a format version"),
        ({"version": -1}, "damaged"),
        ({"version": 10**40}, "newer Leakwise"),
        ({"version": "2"}, "damaged.*version"),
        ({"format": "leakwise.prior"}, "holds a 'leakwise.prior'. Expected a 'leakwise.note'"),
        ({"sha256": "0" * 64}, "does not match its checksum"),
        ({"sha256": None}, "damaged.*sha256"),
        ({"body": {}}, "does not match its checksum"),
        ({"extra": 1}, "unknown field `extra`"),
    ],
)
def test_a_changed_envelope(path: Path, changes: dict[str, Any], message: str) -> None:
    rewrite(path, **changes)
    with pytest.raises(InvalidInput, match=message):
        read(path)


class Other(msgspec.Struct):
    text: str
    number: str
    parts: list[Any]
    unknown: int = 1


class Short(msgspec.Struct):
    text: int


@pytest.mark.parametrize(
    ("body", "message"), [(Other("a", "0x1", []), "unknown field `unknown`"), (Short(1), r"not a valid.*\$\.text")]
)
def test_a_foreign_body_with_a_right_checksum(path: Path, body: msgspec.Struct, message: str) -> None:
    write_document(path, FORMAT, VERSION, body)
    with pytest.raises(InvalidInput, match=message):
        read(path)


def test_an_older_version_is_read(path: Path) -> None:
    write_document(path, FORMAT, 1, NOTE)
    assert read(path) == NOTE


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"{", b"[]", b"null", b"5", b"PK\x03\x04", b"\xff\xfe", b"{}", b"\0" * 50]
)
def test_what_is_no_document(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match="not a Leakwise file, or it is damaged"):
        read(path)


def test_deep_nesting(path: Path) -> None:
    path.write_bytes(b'{"format":' + b"[" * 200_000)
    with pytest.raises(InvalidInput, match="damaged"):
        read(path)
    path.write_bytes(
        b'{"format":"leakwise.note","version":2,"sha256":"","body":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    )
    with pytest.raises(InvalidInput, match="damaged"):
        read(path)


@fuzz
@given(st.data())
def test_any_changed_byte_is_noticed_or_harmless(path: Path, data: st.DataObject) -> None:
    write_document(path, FORMAT, VERSION, NOTE)
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(bytes(content))
    with contextlib.suppress(InvalidInput):
        assert read(path) == NOTE


def test_every_single_bit_flip_is_noticed_or_harmless(path: Path) -> None:
    content = path.read_bytes()
    for place in range(len(content)):
        for bit in range(8):
            changed = bytearray(content)
            changed[place] ^= 1 << bit
            path.write_bytes(bytes(changed))
            with contextlib.suppress(InvalidInput):
                assert read(path) == NOTE


@fuzz
@given(st.data())
def test_truncated_and_mutated_files(path: Path, data: st.DataObject) -> None:
    write_document(path, FORMAT, VERSION, NOTE)
    content = path.read_bytes()
    start, stop = sorted((data.draw(st.integers(0, len(content))), data.draw(st.integers(0, len(content)))))
    path.write_bytes(content[:start] + data.draw(st.binary(max_size=20)) + content[stop:])
    with contextlib.suppress(InvalidInput):
        assert read(path) == NOTE


@fuzz
@given(st.data())
def test_a_body_with_a_right_checksum_may_hold_anything(path: Path, data: st.DataObject) -> None:
    """What a stranger signed himself fits the structure or is refused."""
    anything = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=8,
    )
    body = data.draw(
        st.fixed_dictionaries({}, optional=dict.fromkeys(["text", "number", "parts", "size", "x"], anything))
    )
    write_document(path, FORMAT, VERSION, msgspec.defstruct("Any", [(name, Any) for name in body])(**body))
    with contextlib.suppress(InvalidInput):
        assert isinstance(read(path), Note)


# -- integers --------------------------------------------------------------------------------------------------


@given(st.one_of(st.integers(0, 10), st.integers(0, 2**5000)))
def test_integers_come_back(number: int) -> None:
    assert read_integer(write_integer(number), "file") == number


def test_integers_of_any_length() -> None:
    assert read_integer(write_integer(2**200_000 + 1), "file") == 2**200_000 + 1


@pytest.mark.parametrize("text", ["", "5", "0x", "-0x5", "0xG", "0x5 ", " 0x5", "0x5\n", "0X5", "0xA", "0x1_0", "0x٣"])
def test_damaged_integers(text: str) -> None:
    with pytest.raises(InvalidInput, match="'file' is damaged"):
        read_integer(text, "file")


def test_no_negative_integers() -> None:
    with pytest.raises(InvalidInput, match="at least 0"):
        write_integer(-1)
