"""The key file of repeated releases: made for its owner alone, refused where others can read it."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path
from typing import Any, NoReturn

from leakwise.documents import write_new
from leakwise.errors import InvalidInput, LeakwiseError

__all__ = ["MemoKey"]

_HEAD = b"leakwise memo key 1\n"
_KEY, _CHECK = 32, 8


class MemoKey:
    """The secret key by which draws repeat: ``memo=`` of :func:`leakwise.release` and :func:`leakwise.protect`.

    Make one with :meth:`create`, once, and keep it as you keep the table. Whoever has the key and knows the mechanism
    can compute the outcome of every value of every person, so that what was released with it is hidden no longer. If it
    is lost, draws cannot be repeated: another release is then a second draw, which adds to what is known.

    Parameters
    ----------
    path
        The key file. One that others than its owner can read or write is refused, and so is a damaged one.

    Examples
    --------
    >>> import tempfile
    >>> key = MemoKey.create(tempfile.mkdtemp() + "/key.bin")
    >>> print(oct(key.path.stat().st_mode & 0o777), len(key.fingerprint))
    0o600 19
    """

    __slots__ = ("_key", "path")

    path: Path
    """The key file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._key = _read(self.path)

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> MemoKey:
        """Make a new key file, which only its owner can read and write; one that exists is never replaced."""
        target = Path(path)
        key = secrets.token_bytes(_KEY)
        try:
            write_new(target, _HEAD + key + _checksum(key))
        except FileExistsError:
            raise InvalidInput(
                f"The key file {str(target)!r} exists already. A new key in its place would make new draws of values "
                "that were released with the old one, which adds to what is known. Use it, or choose another name."
            ) from None
        except OSError as error:
            raise InvalidInput(f"Cannot write the key file {str(target)!r}: {error.strerror or error}.") from error
        return cls(target)

    @property
    def fingerprint(self) -> str:
        """A name of the key, the same for the same key, from which nothing about the key can be computed."""
        digits = self.derived(b"fingerprint", size=8).hex()
        return "-".join(digits[place : place + 4] for place in range(0, 16, 4))

    def derived(self, purpose: bytes, *content: bytes, size: int) -> bytes:
        """Return bytes that follow from the key for a purpose and a content, and tell nothing about other ones."""
        mac = hashlib.blake2b(key=self._key, digest_size=size, person=purpose)
        for part in content:
            mac.update(len(part).to_bytes(8, "little"))
            mac.update(part)
        return mac.digest()

    def __repr__(self) -> str:
        return f"MemoKey(fingerprint={self.fingerprint!r})"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise LeakwiseError("A MemoKey cannot be copied or pickled: the key belongs in its file alone. Open it again.")


def _checksum(key: bytes) -> bytes:
    return hashlib.blake2b(key, digest_size=_CHECK, person=b"checksum").digest()


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            _refuse_open(path, os.fstat(stream.fileno()).st_mode)
            content = stream.read(len(_HEAD) + _KEY + _CHECK + 1)
    except FileNotFoundError:
        raise InvalidInput(
            f"memo: there is no key file {str(path)!r}. Make one, once, with lw.MemoKey.create({str(path)!r}) or "
            f"leakwise memo-key {path}; if there was one, look for it: with another key every value is drawn again, "
            "which adds to what is known."
        ) from None
    except OSError as error:
        raise InvalidInput(f"memo: cannot read the key file {str(path)!r}: {error.strerror or error}.") from error
    key = content[len(_HEAD) : len(_HEAD) + _KEY]
    if not content.startswith(_HEAD) or not hmac.compare_digest(content[len(_HEAD) + _KEY :], _checksum(key)):
        raise InvalidInput(
            f"memo: {str(path)!r} is not a key file of Leakwise, or it is damaged. Keys are made by lw.MemoKey.create "
            "or leakwise memo-key."
        )
    return key


def _refuse_open(path: Path, mode: int) -> None:
    """Refuse a file that others than its owner can read or write, where the system has such permissions."""
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InvalidInput(
            f"memo: others can read or write the key file {str(path)!r} (mode {stat.S_IMODE(mode):04o}). Whoever has "
            f"the key can undo every release made with it. If nobody has read it: chmod 600 {path}."
        )
