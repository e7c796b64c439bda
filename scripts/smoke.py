"""A short walk through an installed Leakwise: what works without extras, and what an extra adds.

``python smoke.py base data plots …``: the extras that are installed. What is not installed must be refused in words.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from pathlib import Path

import leakwise as lw

PRIOR = lw.Prior({"a": 0.5, "b": 0.3, "c": 0.2})


def base(folder: Path) -> None:
    d = lw.design(PRIOR, lift="1.5")
    d.certificate.save(folder / "c.json")
    assert lw.verify(folder / "c.json").holds
    rows = ["a", "b", "c"] * 200
    released = lw.release(rows, d.mechanism)
    assert len(released) == len(rows)
    assert lw.estimate(released, d.mechanism).identifiable in (True, False)
    assert lw.envelope(d.mechanism, PRIOR, 0.1).epsilon <= d.epsilon + 1e-12
    assert lw.least_leakage([0.5, 0.5], [[True, False], [False, True]]).epsilon > 0.69
    assert lw.records.leakage(lw.records.parity(4).symmetric_channel(flip=0.3), entropy=2.0).gap < 1e-4
    assert lw.audit(d.mechanism, PRIOR).sentences
    assert "getRandomValues" in lw.export(d.mechanism, "js", certificate=d.certificate).source
    assert "gen_random_bytes" in lw.export(d.mechanism, "sql", certificate=d.certificate).source
    book = lw.Ledger(folder / "l.db")
    book.reserve("data", "secret", d.certificate)


def data(folder: Path) -> None:
    import pandas
    import polars
    import pyarrow

    m = lw.randomized_response(["a", "b", "c"], lift=3)
    for table in (pandas.DataFrame, polars.DataFrame, pyarrow.table):
        made = table({"s": ["a", "b", "c"] * 10})
        assert type(lw.release(made, m, column="s")) is type(made)


def plots(folder: Path) -> None:
    from leakwise.charts.render import save

    d = lw.design(PRIOR, lift="1.5")
    for ending in ("svg", "png", "html"):
        assert save(d.chart(), folder / f"d.{ending}").stat().st_size > 1000
    assert d.plot() is not None


def sklearn(folder: Path) -> None:
    import numpy as np

    column = np.array([["a"], ["b"], ["c"]] * 100, dtype=object)
    made = lw.sklearn.LeakageRandomizer(lift=2, domain=["a", "b", "c"], prior=PRIOR)
    assert made.fit(column).transform(column).shape == column.shape


def analysis(folder: Path) -> None:
    m = lw.randomized_response(["no", "yes"], lift=4)
    table = {"smokes": ["no", "no", "yes", "yes", "no"] * 40, "old": [0, 0, 0, 1, 1] * 40}
    assert set(lw.regress("smokes ~ old", table, {"smokes": m}).coefficients) == {"Intercept", "old"}


def spark(folder: Path) -> None:
    assert callable(lw.spark.release)


def survey(folder: Path) -> None:
    import pyarrow as pa

    m = lw.randomized_response(["no", "yes"], lift=3)
    for ending in ("dta", "sav"):
        out = lw.release(pa.table({"s": ["no", "yes"] * 5}), m, "s", out=folder / f"survey.{ending}", order="keep")
        assert lw.estimate(out, m, "s").sample_size == 10


def sql(folder: Path) -> None:
    import duckdb

    secret = duckdb.sql("SELECT 'a' AS s FROM range(10)").to_arrow_table()
    released = lw.release(secret, lw.randomized_response(["a", "b"], lift=3), "s")
    assert duckdb.from_arrow(released).count("*").fetchall() == [(10,)]


def postgres(folder: Path) -> None:
    said = ""
    try:
        lw.estimate(lw.SqlTable(f"postgresql:///x?host={folder}", "t"), lw.randomized_response(["a", "b"], lift=3), "s")
    except lw.InvalidInput as error:
        said = str(error)
    assert "Cannot connect" in said, said  # the driver is there, and no server in an empty folder


def interop(folder: Path) -> None:
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    m = lw.randomized_response(["no", "yes"], lift=3)
    assert lw.Mechanism.from_opendp(m.to_opendp()) == m
    assert m.to_pld().get_delta_for_epsilon(1.1) == 0


def studio(folder: Path) -> None:
    from leakwise.studio.app import create_app

    assert create_app(0) is not None


def main() -> int:
    wanted = sys.argv[1:] or ["base"]
    with tempfile.TemporaryDirectory() as name:
        base(Path(name))
        for extra in wanted:
            if extra != "base":
                globals()[extra](Path(name))
    doors = {
        "pyspark": ("spark", lambda: lw.spark.session()),
        "sklearn": ("sklearn", lambda: lw.sklearn.LeakageRandomizer),
    }
    for needs, (room, enter) in doors.items():
        if importlib.util.find_spec(needs) is None:
            try:
                enter()
            except lw.MissingExtra as error:
                if room not in str(error):
                    raise
            else:
                raise AssertionError(f"lw.{room} opened without {needs}")
    print(f"leakwise {lw.__version__} with {' '.join(wanted)}: fine")
    return 0


if __name__ == "__main__":
    sys.exit(main())
