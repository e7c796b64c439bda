"""What the name of a file says about it: the kind of table, and whether it is compressed."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from leakwise.errors import InvalidInput, did_you_mean

__all__ = ["AS_LINES", "COMPRESSIONS", "SUFFIXES", "Kind", "kind_of", "stem_of"]

_KINDS = {
    "parquet": (".parquet", ".pq"),
    "ipc": (".arrow", ".feather", ".ipc", ".arrows"),
    "delimited": (".csv", ".tsv"),
    "json_lines": (".jsonl", ".ndjson"),
    "stata": (".dta",),
    "spss": (".sav", ".zsav"),
}
SUFFIXES = tuple(suffix for suffixes in _KINDS.values() for suffix in suffixes)
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
"""Endings that a file of text may have after its own. The other kinds compress their columns themselves."""

AS_LINES = " A .jsonl file has one object on each line: jq -c '.[]' makes that of an array."


class Kind(NamedTuple):
    """A kind of table: its format, the ending of its files, and how their bytes are compressed."""

    format: str
    ending: str
    compression: str | None = None

    @property
    def carries(self) -> bool:
        """Whether files of this kind have a place for the mechanism that they were released by."""
        return self.format in ("parquet", "ipc")

    def alike(self, other: Kind) -> bool:
        """Return whether a release into the other kind can keep the bytes that it does not exchange.

        A stream of Arrow batches and a file of them are two kinds, and so are fields between commas and between tabs.
        """
        return self.format == other.format and self._variant == other._variant

    @property
    def _variant(self) -> bool:
        return self.ending.startswith((".arrows", ".tsv"))


def kind_of(path: Path, name: str = "file") -> Kind:
    """Return the kind of a file by its name.

    >>> kind_of(Path("survey.csv.gz"))
    Kind(format='delimited', ending='.csv.gz', compression='gzip')
    """
    suffix, outer = path.suffix.lower(), ""
    if suffix in COMPRESSIONS:
        suffix, outer = path.with_suffix("").suffix.lower(), suffix
    for kind, suffixes in _KINDS.items():
        if suffix in suffixes:
            if outer and kind not in ("delimited", "json_lines"):
                raise InvalidInput(
                    f"{name} {str(path)!r} must not end in {outer}: {suffix} files compress their columns themselves. "
                    f"Decompress it first, and name it {stem_of(path)}{suffix}."
                )
            return Kind(kind, f"{suffix}{outer}", COMPRESSIONS.get(outer))
    raise InvalidInput(
        f"{name} {str(path)!r} must end in one of {', '.join(SUFFIXES)}, which says what kind of table it is. Files of "
        f"text may be compressed (.csv.gz, .jsonl.zst).{did_you_mean(suffix, SUFFIXES)}"
        f"{AS_LINES if suffix == '.json' else ''}"
    )


def stem_of(path: Path) -> str:
    """Return the name of a file without its ending, nor that of its compression.

    >>> stem_of(Path("data/survey.csv.gz")), stem_of(Path("survey.2020.parquet"))
    ('survey', 'survey.2020')
    """
    return path.with_suffix("").stem if path.suffix.lower() in COMPRESSIONS else path.stem
