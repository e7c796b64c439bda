"""The readers of tables: whatever a file holds, there is a release of every row of it, or an error in words.

Never a traceback, never a file that was half written, and never a row more or less than the standard reader finds.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
from truth import must

import leakwise as lw

__all__ = ["damage", "readers"]

Generator = np.random.Generator
MECHANISM = lw.randomized_response(["no", "yes"], lift=3)
_ODD = [
    "",
    " ",
    '"',
    '""',
    ",",
    ";",
    "\t",
    "é",
    "e\u0301",
    "\u2028",
    "\x00",
    "\ufeff",
    "NA",
    "null",
    "1e5",
    "=1+1",
    "a\nb",
    "x" * 200,
]
_KINDS = [".csv", ".parquet", ".jsonl", ".csv.gz", ".arrow"]
_CODINGS = ["utf-8", "utf-8-sig", "latin-1", "utf-16", "cp1252", "utf-8"]


def damage(data: bytearray, generator: Generator) -> None:
    """Change, add, remove or repeat a few bytes."""
    where, kind = int(generator.integers(len(data))) if data else 0, generator.integers(5)
    if kind == 0 and data:
        data[where] ^= 1 << int(generator.integers(8))
    elif kind == 1 and data:
        data[where : where + 1] = b"0123456789abcdef"[int(generator.integers(16))].to_bytes()
    elif kind == 2:
        data[where:where] = generator.bytes(int(generator.integers(1, 9)))
    elif kind == 3:
        del data[where : where + int(generator.integers(1, 40))]
    else:
        piece = bytes(data[where : where + 20])
        place = int(generator.integers(len(data) + 1))
        data[place:place] = piece


def _table(generator: Generator) -> dict[str, list[str]]:
    rows = int(generator.integers(0, 40))
    odd = generator.random() < 0.5
    others = {
        str(name): [str(one) for one in generator.choice(_ODD if odd else ["a", "b", "7"], rows)]
        for name in generator.choice(
            ["town", "id", "", "ill ", 'a "b"', "x,y"], int(generator.integers(0, 3)), replace=False
        )
    }
    secret = [str(one) for one in generator.choice(["no", "yes"], rows)]
    if generator.random() < 0.2 and rows:
        secret[int(generator.integers(rows))] = str(generator.choice(["", "No", "yes ", "maybe"]))
    names = [*others, "ill"]
    generator.shuffle(names)
    return {name: secret if name == "ill" else others[name] for name in names}


def _delimited(table: dict[str, list[str]], generator: Generator, mark: str) -> bytes:
    text = io.StringIO()
    quoting = int(generator.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]))
    writer = csv.writer(text, delimiter=mark, quoting=quoting, lineterminator=str(generator.choice(["\n", "\r\n"])))
    writer.writerows([list(table), *zip(*table.values(), strict=True)])
    return text.getvalue().encode(str(generator.choice(_CODINGS)), "replace")


def _lines(table: dict[str, list[str]], generator: Generator) -> bytes:
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    return "".join(json.dumps(row, ensure_ascii=bool(generator.random() < 0.5)) + "\n" for row in rows).encode()


def _arrow(write: Callable[[pa.Table, io.BytesIO], object], table: dict[str, list[str]]) -> bytes:
    target = io.BytesIO()
    write(pa.table(table), target)
    return target.getvalue()


def _stored(folder: Path, generator: Generator) -> Path:
    table, kind = _table(generator), str(generator.choice([".csv", ".csv", ".tsv", ".jsonl", ".parquet", ".arrow"]))
    if kind in (".csv", ".tsv"):
        mark = "\t" if kind == ".tsv" else str(generator.choice([",", ",", ";"]))
        data = _delimited(table, generator, mark)
    elif kind == ".jsonl":
        data = _lines(table, generator)
    else:
        data = _arrow(pq.write_table if kind == ".parquet" else feather.write_feather, table)
    if kind in (".csv", ".tsv", ".jsonl") and generator.random() < 0.2:
        kind, data = f"{kind}.gz", gzip.compress(data)
    changed = bytearray(data)
    for _ in range(int(generator.integers(0, 4))):
        damage(changed, generator)
    path = folder / f"table{kind}"
    path.write_bytes(bytes(changed))
    return path


def _read(path: Path) -> list[list[str]] | None:
    """The rows of a CSV file by the standard reader; None where it refuses the file as well."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")
    if "\r" in text.replace("\r\n", ""):
        return None  # the standard reader ends a row there, and we do not
    head = text.partition("\n")[0]
    mark = "\t" if ".tsv" in path.name else ";" if ";" in head and "," not in head else ","
    try:
        return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True) if row]
    except csv.Error:
        return None


def readers(generator: Generator) -> None:
    """One file, released into a file of its kind or of another."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LeakwiseWarning)
        folder = Path(name)
        source = _stored(folder, generator)
        before = source.read_bytes()
        same = "".join(source.suffixes)
        ending = same if generator.random() < 0.6 else str(generator.choice(_KINDS))
        out = folder / f"out{ending}"
        try:
            lw.release(source, MECHANISM, "ill", out=out, order="keep")
        except lw.LeakwiseError:
            must([path.name for path in folder.iterdir()] == [source.name], "something was left after an error")
        else:
            must(out.exists(), "nothing was written")
            lw.estimate(out, MECHANISM, column="ill")
            if ending == same and same.removesuffix(".gz") in (".csv", ".tsv"):
                _compare(source, out)
        must(source.read_bytes() == before, "the table itself was changed")


def _compare(source: Path, out: Path) -> None:
    """All fields but the secret are those of the source, row by row."""
    old, new = _read(source), _read(out)
    if old is None or new is None:
        return
    must(len(old) == len(new), f"{len(old)} rows became {len(new)}")
    place = old[0].index("ill")
    for one, other in zip(old, new, strict=True):
        must(one[:place] + one[place + 1 :] == other[:place] + other[place + 1 :], f"{one} became {other}")
    outcomes = pd.Series([row[place] for row in new[1:]])
    must(outcomes.isin(MECHANISM.outputs).all(), "an outcome is none of the mechanism")
