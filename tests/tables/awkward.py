"""Fifty-five small tables as people have them, each with what must become of it: a release, or what the message says.

``python tests/tables/awkward.py FOLDER`` writes all of them, to be tried by hand.
"""

from __future__ import annotations

import datetime
import decimal
import gzip
import json
import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat

YES = ["no", "yes"]


@dataclass(frozen=True)
class Awkward:
    """A table, how it is released, and what must happen.

    Attributes
    ----------
    name
        What is awkward about it, in words.
    file
        Where it is written.
    make
        Writes it.
    column, domain
        The secret, and its values as the library takes them.
    typed
        The same domain as it is typed on the command line.
    says
        How the error begins, the folder of the table left out; None where it is to be released.
    drop
        Columns that do not go out.
    flags
        Further options of the command line.
    """

    name: str
    file: str
    make: Callable[[Path], None]
    typed: str = "no,yes"
    says: str | None = None
    column: str = "ill"
    domain: Any = field(default_factory=lambda: list(YES))
    drop: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


def _values(values: Any = YES, rows: int = 60) -> list[Any]:
    return random.Random(5).choices(list(values), k=rows)


def _text(content: str | bytes) -> Callable[[Path], None]:
    return lambda path: void(path.write_bytes(content.encode() if isinstance(content, str) else content))


def void(_: object) -> None:
    """Give nothing back."""


def _csv(values: Any = YES, head: str = "ill", end: str = "\n", **how: Any) -> Callable[[Path], None]:
    return _text(end.join([head, *map(str, _values(values, **how))]) + end)


def _numbered(values: Any, mark: str = ",") -> Callable[[Path], None]:
    rows = (f"{place}{mark}{one}\n" for place, one in enumerate(_values(values)))
    return _text(f"n{mark}ill\n" + "".join(rows))


def _parquet(values: Any, kind: Any = None, **more: Any) -> Callable[[Path], None]:
    column = pa.array(_values(values), kind)
    return lambda path: pq.write_table(pa.table({"ill": column, **more}), path)


def _folder(parts: Mapping[str, Any]) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        for name, table in parts.items():
            target = path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(table, str):
                target.write_text(table, encoding="utf-8")
            else:
                pq.write_table(table, target)

    return make


def _stata(path: Path) -> None:
    labels = {"ill": {1: "no", 2: "yes"}}
    pyreadstat.write_dta(pd.DataFrame({"ill": _values([1, 2])}), path, variable_value_labels=labels)


def _spss(path: Path) -> None:
    labels = {"ill": {1: "no", 2: "yes", 9: "no answer"}}
    frame = pd.DataFrame({"ill": _values([1, 2, 9])})
    pyreadstat.write_sav(frame, path, variable_value_labels=labels, missing_ranges={"ill": [9]})


def _lines(*records: Any) -> Callable[[Path], None]:
    return _text("".join(json.dumps(one) + "\n" for one in records))


ROWS = _values()
DAYS = [datetime.date(2024, 1, 31), datetime.date(2024, 2, 29)]
TIMES = [
    datetime.datetime(2024, 1, 31, 23, 59, tzinfo=datetime.UTC),
    datetime.datetime(2024, 2, 1, tzinfo=datetime.UTC),
]
PRICES = [decimal.Decimal("1.50"), decimal.Decimal("2.25")]
ILL = pa.table({"ill": ROWS})
TEXT = "ill\n" + "\n".join(ROWS) + "\n"
OUTSIDE = "column 'ill' has {} with values outside the declared domain: {}. The domain is {}."
MISSING = (
    "column 'ill' has {} missing values among the {} rows last read, and the declared domain has no place for them."
)

# fmt: off
TEXTS = [
    Awkward("a plain table", "t.csv", _csv()),
    Awkward("nothing in it", "t.csv", _text(""), says="'t.csv' is empty: it has no header and no rows."),
    Awkward("a header alone", "t.csv", _text("ill\n"), says="'t.csv' has no rows: there is nothing to release"),
    Awkward("an empty first line", "t.csv", _text("\nill\nno\n"),
            says="The first line of 't.csv' is empty. It must name the columns."),
    Awkward("a byte order mark and carriage returns", "t.csv", _csv(head="\ufeffill", end="\r\n")),
    Awkward("UTF-16, as a spreadsheet saves it", "t.csv", _text("ill\nno\nyes\n".encode("utf-16")),
            says="'t.csv' is in UTF-16. Save it as UTF-8 first."),
    Awkward("Latin-1 beside the secret", "t.csv", _text("ill,town\nno,Z\xfcrich\nyes,Z\xfcrich\n".encode("latin-1")),
            drop=("town",)),
    Awkward("semicolons", "t.csv", _numbered(YES, ";"), drop=("n",)),
    Awkward("tabs", "t.tsv", _numbered(YES, "\t"), drop=("n",)),
    Awkward("a header in quotes with a comma", "t.csv", _csv(head='"ill, now"'), column="ill, now"),
    Awkward("values in quotes", "t.csv", _csv(['"no"', '"yes"'])),
    Awkward("line feeds inside quotes", "t.csv", _csv(['"no\nnot at all"', "yes"]), '"no\nnot at all",yes',
            domain=["no\nnot at all", "yes"]),
    Awkward("a quote that is never closed", "t.csv", _text('ill\nno\n"yes\nno\n'),
            says="'t.csv' has a quote that is opened and never closed."),
    Awkward("a row with a field too many", "t.csv", _text("ill\nno\nyes,1\n"),
            says="Record 3 of 't.csv' has 2 fields, its header has 1."),
    Awkward("two columns of one name", "t.csv", _text("ill,ill\nno,yes\n"),
            says="column 'ill' is in 't.csv' 2 times. Rename its columns apart first."),
    Awkward("carriage returns in some lines only", "t.csv", _text(TEXT.replace("yes\n", "yes\r\n")),
            says="'t.csv' ends some lines with a carriage return and others without"),
    Awkward("blank lines at the end", "t.csv", _text(TEXT + "\n\n"), says=MISSING.format(2, 62)),
    Awkward("no line feed at the end", "t.csv", _text(TEXT[:-1])),
    Awkward("a name that only looks right", "t.csv", _csv(head="iII"),
            says="column 'ill' is not in 't.csv', whose columns are 'iII'."),
    Awkward("a name in other letters", "t.csv", _csv(head="Ill"),
            says="column 'ill' is not in 't.csv', whose columns are 'Ill'. Did you mean 'Ill'?"),
    Awkward("blanks around values", "t.csv", _csv([" no", "yes "]),
            says=OUTSIDE.format("60 of the 60 rows last read", "'yes ', ' no'", "'no', 'yes'") + " Did you mean 'yes'"),
    Awkward("values in other letters", "t.csv", _csv(["No", "Yes"]),
            says=OUTSIDE.format("60 of the 60 rows last read", "'Yes', 'No'", "'no', 'yes'") + " Did you mean 'yes'?"),
    Awkward("a value nobody declared", "t.csv", _csv([*YES, "unknown"]),
            says=OUTSIDE.format("23 of the 60 rows last read", "'unknown'", "'no', 'yes'")),
    Awkward("missing values nobody declared", "t.csv", _numbered([*YES, ""]), drop=("n",),
            says=MISSING.format(23, 60) + " Add None to the domain (--missing)"),
    Awkward("missing values that are declared", "t.csv", _numbered([*YES, ""]), drop=("n",),
            domain=[*YES, None], flags=("--missing",)),
    Awkward("NA is a text like any other", "t.csv", _csv([*YES, "NA"]), "no,yes,NA", domain=[*YES, "NA"]),
    Awkward("numbers with zeros in front", "t.csv", _csv(["01", "02"]), "01,02", domain=["01", "02"]),
    Awkward("truth in capitals", "t.csv", _csv(["TRUE", "FALSE"]), "TRUE,FALSE", domain=["TRUE", "FALSE"]),
    Awkward("days", "t.csv", _csv(DAYS), "2024-01-31,2024-02-29", domain=["2024-01-31", "2024-02-29"]),
    Awkward("accents that are written in two ways", "t.csv", _csv(["caf\u00e9", "cafe\u0301"]), "caf\u00e9,no",
            domain=["caf\u00e9", "no"],
            says=OUTSIDE.format("30 of the 60 rows last read", "'cafe\u0301'", "'caf\u00e9', 'no'")),
    Awkward("ages, the oldest together", "t.csv", _csv([5, 30, 99]), "bins:0,18,65,inf", domain="bins"),
    Awkward("sorted by the secret", "t.csv", _text("ill\n" + "no\n" * 400 + "yes\n" * 400),
            says="The order of the rows reveals 'ill': 798 of 800 rows have the value of the row before"),
    Awkward("compressed", "t.csv.gz", _text(gzip.compress(TEXT.encode()))),
    Awkward("compressed and cut", "t.csv.gz", _text(gzip.compress(TEXT.encode() * 99)[:60]),
            says="'t.csv.gz' is not a gzip file, or it is damaged or cut off: Truncated compressed stream."),
    Awkward("a plain file that is called compressed", "t.csv.gz", _csv(),
            says="'t.csv.gz' is not a gzip file, or it is damaged or cut off:"),
    Awkward("JSON lines", "t.jsonl", _lines(*({"ill": one} for one in ROWS))),
    Awkward("JSON lines of which one is cut", "t.jsonl", _text('{"ill": "no"}\n{"ill": "y'),
            says="Line 2 of 't.jsonl' is not a JSON object: Input data was truncated."),
    Awkward("JSON lines of which one has no such name", "t.jsonl", _lines({"ill": "no"}, {"age": 3}),
            says="An object of 't.jsonl' has no 'ill' (row 2 or soon after)."),
]
COLUMNS = [
    Awkward("no rows in Parquet", "t.parquet", lambda path: pq.write_table(ILL.slice(0, 0), path),
            says="'t.parquet' has no rows: there is nothing to release"),
    Awkward("a text that is called Parquet", "t.parquet", _csv(),
            says="'t.parquet' is not a Parquet file, or it is damaged:"),
    Awkward("truth values", "t.parquet", _parquet([True, False]), "true,false", domain=[True, False]),
    Awkward("truth values with missing ones", "t.parquet", _parquet([True, False, None]), "true,false",
            domain=[True, False, None], flags=("--missing",)),
    Awkward("whole numbers with missing ones", "t.parquet", _parquet([1, 2, None], pa.int8()), "1,2",
            domain=[1, 2, None], flags=("--missing",)),
    Awkward("days of a calendar", "t.parquet", _parquet(DAYS), "2024-01-31,2024-02-29", domain=DAYS),
    Awkward("times with a zone, by month", "t.parquet", _parquet(TIMES), "bins:2024-01,2024-02,month", domain="months"),
    Awkward("prices to the cent", "t.parquet", _parquet(PRICES), "1.50,2.25", domain=PRICES),
    Awkward("categories", "t.parquet", _parquet(YES, pa.dictionary(pa.int8(), pa.string()))),
    Awkward("lists", "t.parquet", _parquet([["no"], ["yes"]]),
            says=OUTSIDE.format("60 of 60 rows", "['yes'], ['no']", "'no', 'yes'")),
    Awkward("a folder of Parquet files", "t", _folder({"a.parquet": ILL.slice(0, 30), "b.parquet": ILL.slice(30)})),
    Awkward("a folder of CSV files", "t", _folder({"a.csv": TEXT, "b.csv": TEXT})),
    Awkward("a folder of files that differ", "t", _folder({"a.parquet": ILL, "b.parquet": pa.table({"age": [1]})}),
            says="The files of 't' are not of one table: 'b.parquet' has the columns ['age'], 'a.parquet' has ['ill']"),
    Awkward("a folder for each value of the secret", "t",
            _folder({f"ill={one}/a.parquet": pa.table({"age": [1]}) for one in YES}),
            says="'t/ill=no/a.parquet' is in 'ill=no', which reveals the secret of all its rows", drop=("age",)),
    Awkward("an empty folder", "t", lambda path: path.mkdir(), says="'t' is a folder without a table in it."),
    Awkward("Stata with labels", "t.dta", _stata, "1,2", domain=[1, 2]),
    Awkward("SPSS with a code for no answer", "t.sav", _spss, "1,2,9", domain=[1, 2, 9]),
]
# fmt: on
TABLES = TEXTS + COLUMNS


if __name__ == "__main__":
    for place, one in enumerate(TABLES, 1):
        folder = Path(sys.argv[1]) / f"{place:02d} {one.name}"
        folder.mkdir(parents=True)
        one.make(folder / one.file)
