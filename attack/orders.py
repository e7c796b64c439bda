"""The order of the rows: refused or shuffled where it tells the secret, and never refused where it is random."""

from __future__ import annotations

import sqlite3
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import leakwise as lw
from leakwise.tables.release.row_order import RowOrder

__all__ = ["orders"]

Generator = np.random.Generator


def _arranged(generator: Generator, codes: np.ndarray) -> tuple[np.ndarray, bool]:
    """The codes in some order, and whether it tells them."""
    kind = generator.choice(["random", "sorted", "blocks", "parts", "periodic", "drift"])
    mixed = generator.permutation(codes)
    if kind == "random":
        return mixed, False
    if kind == "sorted":
        return np.sort(codes)[:: generator.choice([1, -1])], True
    if kind == "blocks":  # sorted within blocks of a few dozen rows
        size = int(generator.integers(20, 60))
        return np.concatenate([np.sort(mixed[start : start + size]) for start in range(0, codes.size, size)]), True
    if kind == "parts":  # one value after the other, in an order of their own
        return np.concatenate([codes[codes == value] for value in generator.permutation(np.unique(codes))]), True
    if kind == "periodic":
        return np.resize(generator.permutation(np.unique(codes)), codes.size), True
    # Sorted, but for noise of a quarter of the table in the position of every row.
    return np.sort(codes)[np.argsort(np.arange(codes.size) + generator.normal(0, codes.size / 4, codes.size))], True


def _source(generator: Generator, folder: Path, frame: pd.DataFrame) -> tuple[Any, dict[str, Any]]:
    kind = generator.choice(["memory", "csv", "jsonl", "parquet", "sqlite"])
    if kind == "memory":
        return frame, {}
    path = folder / f"t.{kind}"
    if kind == "sqlite":
        with closing(sqlite3.connect(path)) as connection:
            frame.to_sql("t", connection, index=False)
            connection.execute("CREATE INDEX by_secret ON t (s)")
            connection.commit()
        return lw.SqlTable(path, "t"), {"out": lw.SqlTable(folder / "o.sqlite", "t"), "overwrite": True}
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_parquet(path, index=False, row_group_size=int(generator.integers(50, 1000)))
    return path, {"out": folder / f"o.{kind}", "overwrite": True}


def _read(table: Any) -> list[str]:
    if isinstance(table, lw.SqlTable):
        with closing(sqlite3.connect(table.database)) as connection:
            return [row[0] for row in connection.execute("SELECT s FROM t")]
    if isinstance(table, Path):
        read = {".csv": pd.read_csv, ".parquet": pd.read_parquet}.get(
            table.suffix, lambda it: pd.read_json(it, lines=True)
        )
        table = read(table)
    return list(table["s"])


def orders(generator: Generator) -> None:
    """One table in one order, from one kind of source."""
    values = [f"v{k}" for k in range(int(generator.integers(2, 6)))]
    # At least a fifth of an even share for every value, so that there is something to find.
    shares = 0.2 / len(values) + 0.8 * generator.dirichlet(np.ones(len(values)))
    rows = int(generator.integers(400, 3000))
    codes, tells = _arranged(generator, np.sort(generator.choice(len(values), rows, p=shares)))
    frame = pd.DataFrame({"s": np.array(values)[codes], "x": generator.integers(0, 9, rows)})
    m = lw.identity(values)
    asked = {"unrelated": "x", "prior": lw.Prior.uniform(values), "mechanism": m, "allow_certainty": True}
    with tempfile.TemporaryDirectory() as name:
        data, options = _source(generator, Path(name), frame)
        try:
            lw.protect(data, "s", **asked, **options)
            refused = False
        except lw.InvalidInput as error:
            if 'order="shuffle"' not in str(error):
                raise
            refused = True
        assert refused == tells, f"an order that {'tells' if tells else 'does not tell'}: refused {refused}"
        made = lw.protect(data, "s", **asked, order="shuffle", **options)
        out = _read(made.table)
        assert Counter(out) == Counter(frame["s"]), "other rows came out than went in"
        seen = RowOrder(values)
        seen.add(np.array([values.index(one) for one in out]))
        assert not seen.verdict().dependent, "the shuffled rows tell the secret"
