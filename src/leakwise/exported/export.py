"""``lw.export``: a sampler of a mechanism, with what it guarantees in its first lines."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from leakwise.alphabet import Label
from leakwise.charts.shown import Parts, Shown, Table
from leakwise.charts.words import Kept
from leakwise.documents import document_checksum, write_atomically
from leakwise.errors import InvalidInput, did_you_mean
from leakwise.exported.contents import contents_of, drawn_from_words
from leakwise.exported.header import header
from leakwise.exported.javascript import javascript
from leakwise.exported.postgresql import check_dialect, postgresql
from leakwise.exported.proven import AnyCertificate, proven
from leakwise.mechanism import AnyMechanism, Mechanism, StratifiedMechanism
from leakwise.mechanism.files import mechanism_to_body
from leakwise.mechanism.stratified_file import load_any, stratified_to_body
from leakwise.workflow.mechanism import drawable
from leakwise.workflow.strata import each_changed

__all__ = ["Exported", "export"]

_KINDS = {"js": None, "script": "leakwise", "sql": "leakwise_draw"}
"""What can be exported, and what it is called if nobody names it; a module is called by who imports it."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,40}", re.ASCII)


@dataclass(frozen=True, repr=False)
class Exported(Shown):
    """A sampler as the text of a file.

    Attributes
    ----------
    source
        The file.
    to
        What it is: ``js``, ``script`` or ``sql``.
    guarantee
        What is proven, with its adversary.
    mechanism
        What is drawn from: the exported mechanism, with denominators that are powers of two.
    checksum
        The SHA-256 of the mechanism file, which is in the sampler too.
    """

    source: str
    to: str
    guarantee: str
    mechanism: AnyMechanism
    checksum: str

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the file, atomically, and return where it is."""
        write_atomically(path, self.source.encode("ascii"))
        return Path(path)

    def draw_from_words(self, values: Any, words: Any, given: Mapping[Any, Any] | None = None) -> list[Label]:
        """Return what the sampler draws for these values from these words: the reference for other languages.

        Parameters
        ----------
        values
            A column of true values.
        words
            For each an integer from 0 to 2^64 - 1, or all as bytes, eight for each value, the first the lowest.
        given
            For a mechanism by strata the given columns, by name.
        """
        if isinstance(words, (bytes, bytearray, memoryview)):
            words = np.frombuffer(words, dtype="<u8")
        numbers = np.asarray(words)
        if numbers.dtype != np.uint64:
            try:
                numbers = np.array([int(word) for word in words], dtype=np.uint64)
            except (OverflowError, TypeError, ValueError) as error:
                raise InvalidInput(f"words must be integers from 0 to 2^64 - 1: {error}.") from error
        return drawn_from_words(self.mechanism, values, numbers, given)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "to": self.to,
            "guarantee": self.guarantee,
            "sha256": self.checksum,
            "bytes": len(self.source),
            "source": self.source,
        }

    def _shown(self) -> Parts:
        rows = [["size", f"{len(self.source):,} bytes"], ["SHA-256 of the mechanism", self.checksum]]
        return [Table(["sampler", self.to], rows, align="ll"), Kept(self.guarantee)]


def export(
    mechanism: AnyMechanism | str | os.PathLike[str],
    to: str = "js",
    *,
    certificate: AnyCertificate | str | os.PathLike[str] | None = None,
    name: str | None = None,
    dialect: str | None = None,
) -> Exported:
    """Return a sampler of a mechanism for the place where an answer is given: a page in a browser, or a database.

    It draws with exactly the probabilities of the mechanism, from the secure generator of the platform alone
    (``crypto.getRandomValues``; ``gen_random_bytes`` of pgcrypto), and refuses to draw where there is none. The same
    word gives the same outcome in Python (:meth:`Exported.draw_from_words`), JavaScript and SQL. A mechanism whose
    denominator is not a power of two is rounded as a release rounds it, and proven again.

    Parameters
    ----------
    mechanism
        A mechanism, also one by strata, or the file of one.
    to
        ``"js"`` (an ES module), ``"script"`` (a plain script, which node can require) or ``"sql"`` (functions of
        PostgreSQL, with pgcrypto).
    certificate
        The certificate of the mechanism, or its file: its guarantee is checked and goes into the first lines. Without
        one they say what holds for anyone, whatever they knew.
    name
        What the sampler is called in a script (``leakwise`` if not given) or in the database (``leakwise_draw``).
    dialect
        Of SQL: ``"postgresql"``, the default. Others are refused with the reason.

    Examples
    --------
    >>> from leakwise.mechanism import randomized_response
    >>> sampler = export(randomized_response(["no", "yes"], lift=3), "js")
    >>> print(sampler.guarantee)
    No guess about the secret becomes more than 3 times as likely by seeing the outcome, for anyone, whatever they \
knew (rows independent).
    >>> sampler.draw_from_words(["no", "yes"], [0, 2**64 - 1])
    ['no', 'yes']
    """
    if to not in _KINDS:
        raise InvalidInput(f"to must be one of {', '.join(_KINDS)}. Got {to!r} instead.{did_you_mean(to, _KINDS)}")
    if name is not None and (to == "js" or not _NAME.fullmatch(name)):
        raise InvalidInput(
            "name must be at most 41 letters, digits and underscores, for a script or SQL; a module is named where it "
            f"is imported. Got {name!r} for {to}."
        )
    if dialect is not None:
        check_dialect(dialect, to)
    called = name or _KINDS[to] or ""
    known = mechanism if isinstance(mechanism, AnyMechanism) else load_any(mechanism)
    drawn = each_changed(known, drawable) if isinstance(known, StratifiedMechanism) else drawable(known)
    contents = contents_of(drawn, linear=to != "sql")
    guarantee, checksum = proven(known, drawn, certificate, stacklevel=2), _checksum(known)
    names, coarse = [one.name for one in contents.given], any(one.bins is not None for one in contents.given)
    first = header(to, called, guarantee, checksum, contents.shape, drawn != known, names, coarse)
    if to == "sql":
        source = postgresql(contents, first, called, f"{guarantee} (Leakwise, mechanism {checksum})")
    else:
        source = javascript(contents, to, first, called, checksum)
    return Exported(source, to, guarantee, drawn, checksum)


def _checksum(mechanism: AnyMechanism) -> str:
    """The checksum in the file of a mechanism, with the digest of its table if it has one."""
    body: Any = mechanism_to_body(mechanism) if isinstance(mechanism, Mechanism) else stratified_to_body(mechanism)
    body.outcomes_digest = mechanism.outcomes_digest
    return document_checksum(body)
