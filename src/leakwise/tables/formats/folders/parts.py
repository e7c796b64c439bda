"""The files of a table in several files: those of a folder, of folders such as ``country=DE``, or of a pattern."""

from __future__ import annotations

import fnmatch
import glob
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from leakwise.errors import InvalidInput, some_of
from leakwise.tables.formats.names import SUFFIXES, Kind, kind_of

__all__ = ["Part", "belongs", "find_parts", "is_pattern", "kind_of_parts"]

# How Hive writes a missing value in the name of a folder, and how Spark names its files.
_MISSING = "__HIVE_DEFAULT_PARTITION__"
_BY_SPARK = re.compile(r"part-\d{5}")


@dataclass(frozen=True)
class Part:
    """A file of a table, and what the names of its folders say about its rows."""

    path: Path
    keys: Mapping[str, str | None] = field(default_factory=dict)


def is_pattern(path: Path) -> bool:
    """Return whether a path names several files, as ``data/*.parquet`` does, and not one of that very name."""
    return glob.has_magic(str(path)) and not path.exists()


def find_parts(path: Path) -> list[Part]:
    """Return the files of a folder or of a pattern, in the order of their names; an error where they are not a table.

    Names that begin with a dot or an underscore are not for readers, and files of other kinds are not of the table.
    Folders named ``column=value`` are looked into: the column is one of the table.
    """
    found = list(_of_pattern(path) if is_pattern(path) else _of_folder(path, path, {}))
    if not found:
        what = "names no file" if is_pattern(path) else "is a folder without a table in it"
        raise InvalidInput(
            f"{str(path)!r} {what}. Tables end in one of {', '.join(SUFFIXES)} (or .csv.gz and the like)."
        )
    kinds = {kind_of(part.path).format: part.path.name for part in found}
    if len(kinds) > 1:
        raise InvalidInput(
            f"{str(path)!r} has files of several kinds: {some_of(list(kinds.values()))}. Name those that are the table "
            "by a pattern, such as 'folder/*.parquet'."
        )
    if kinds.keys() & {"stata", "spss"}:
        raise InvalidInput(
            f"{str(path)!r} has Stata or SPSS files, which are read one at a time. Put them into one first."
        )
    keys = {tuple(part.keys): part.path for part in found}
    if len(keys) > 1:
        raise InvalidInput(
            f"The files of {str(path)!r} are not of one table: {some_of([str(one) for one in keys.values()])} are in "
            "folders of different columns."
        )
    return found


def kind_of_parts(path: Path) -> Kind:
    """Return the kind of file that a folder consists of."""
    return kind_of(find_parts(path)[0].path)


def belongs(path: Path, source: Path) -> bool:
    """Return whether a file would be one of those of a folder or of a pattern, by whatever name it is reached."""
    ours = path.parent.resolve() / path.name
    if not is_pattern(source):
        return source.is_dir() and ours.is_relative_to(source.resolve())
    fixed = _fixed(source)
    top, pattern = Path(*source.parts[:fixed]).resolve(), source.parts[fixed:]
    if not ours.is_relative_to(top):
        return False
    inside = ours.relative_to(top)
    if "**" in pattern:
        return fnmatch.fnmatch(str(inside), str(Path(*pattern)).replace("**/", "*"))
    # Of a folder that the pattern names all files are read.
    return len(inside.parts) >= len(pattern) and all(map(fnmatch.fnmatch, inside.parts, pattern))


def _fixed(pattern: Path) -> int:
    """The number of folders that a pattern names before its first sign."""
    return next(place for place, part in enumerate(pattern.parts) if glob.has_magic(part))


def _of_folder(folder: Path, top: Path, keys: Mapping[str, str | None]) -> Iterator[Part]:
    _refuse_unfinished(folder, top)
    plain: list[str] = []
    for one in sorted(folder.iterdir()):
        if one.name[0] in "._":
            continue
        if not one.is_dir():
            if _is_table(one):
                yield Part(one, keys)
            continue
        if "=" in one.name:
            yield from _of_folder(one, top, _with_key(keys, one.name, one))
        else:
            plain.append(one.name)
    if plain and any(_is_table(file) for name in plain for file in (folder / name).rglob("*")):
        raise InvalidInput(
            f"{str(top)!r} has tables in the folders {some_of(plain)}, whose names are not of the form column=value. "
            "If all are one table, name their files by a pattern: 'folder/**/*.parquet'."
        )


def _of_pattern(pattern: Path) -> Iterator[Part]:
    fixed = _fixed(pattern)
    for text in sorted(glob.glob(str(pattern), recursive=True)):
        path = Path(text)
        if any(part[0] in "._" for part in path.parts[fixed:]):
            continue
        keys: Mapping[str, str | None] = {}
        folders = path.parts[fixed:] if path.is_dir() else path.parts[fixed:-1]
        for part in folders:
            if "=" in part:
                keys = _with_key(keys, part, path)
        if path.is_dir():
            if "**" not in pattern.parts:
                yield from _of_folder(path, path, keys)
        elif _is_table(path):
            yield Part(path, keys)


def _with_key(keys: Mapping[str, str | None], folder: str, path: Path) -> Mapping[str, str | None]:
    """The columns that the folders so far name, and that of one more."""
    name, _, value = (unquote(text) for text in folder.partition("="))
    if not name or name in keys:
        raise InvalidInput(
            f"{str(path)!r} names the column {name!r} twice, or none at all, in its folders of the form column=value."
        )
    return {**keys, name: None if value == _MISSING else value}


def _is_table(path: Path) -> bool:
    try:
        kind_of(path)
    except InvalidInput:
        return False
    return path.is_file()


def _refuse_unfinished(folder: Path, top: Path) -> None:
    """Refuse a folder that is being written, or whose files are not all of them rows of the table."""
    if (folder / "_temporary").exists() or any(folder.glob(".spark-staging*")):
        raise InvalidInput(
            f"{str(folder)!r} is not whole: a job is writing to it, or was stopped there. Read it when the job is done."
        )
    for mark, what in (("_delta_log", "Delta Lake"), (".hoodie", "Hudi")):
        if (folder / mark).exists():
            raise InvalidInput(
                f"{str(folder)!r} is a table of {what}, some of whose files may hold rows that were deleted. Export it "
                "to Parquet files first."
            )
    if folder == top and not (folder / "_SUCCESS").exists():
        by_spark: Sequence[Path] = [one for one in folder.rglob("part-*") if _BY_SPARK.match(one.name)]
        if by_spark:
            raise InvalidInput(
                f"{str(folder)!r} is not whole: its files are named as Spark names them ({by_spark[0].name!r}), and it "
                "has no file _SUCCESS, which Spark writes last. Read it when the job is done. (If it is whole, put an "
                "empty file _SUCCESS there.)"
            )
