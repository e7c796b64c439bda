"""A table leaves the house, not a column: every other column is given, unrelated or dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app

DOMAIN = ["no", "yes"]
PRIOR = lw.Prior({"no": 0.7, "yes": 0.3})
TABLE = {"prior": "table", "failure": 1e-6, "domain": DOMAIN, "lift": 2}


def survey(rows: int = 12_000) -> pd.DataFrame:
    """Smoking goes with sex and age, not with the street; names are their owners'."""
    generator = np.random.default_rng(23)
    sex, age = generator.choice(["f", "m"], rows), generator.integers(18, 90, rows)
    smokes = generator.random(rows) < 0.1 + 0.3 * (sex == "m") + 0.2 * (age < 40)
    return pd.DataFrame(
        {
            "name": [f"p{k}" for k in generator.permutation(rows)],
            "sex": sex,
            "age": age,
            "street": generator.choice([f"s{k:02}" for k in range(30)], rows),
            "smokes": np.where(smokes, "yes", "no"),
        }
    )


FRAME = survey()


def test_the_promise_is_to_whoever_sees_the_row() -> None:
    bins = lw.bins(18, 90, 2)
    r = lw.protect(FRAME, "smokes", given=["sex"], coarsen={"age": bins}, unrelated="street", drop="name", **TABLE)
    assert list(r.table) == ["sex", "age", "street", "smokes"]
    assert set(r.table["age"]) == set(bins.labels)
    assert r.mechanism.given == ("sex", "age")
    assert r.guarantee.startswith("No guess about smokes becomes more than 2 times as likely as sex and age make it")
    assert "if street tells nothing" in r.guarantee
    assert r.certificate.verify().holds
    told = lw.audit_table(FRAME.assign(age=r.table["age"]), "smokes", given=["sex", "age"], mechanism=r.mechanism)
    assert told.added is not None
    assert told.added.lift <= 2


def test_every_other_column_is_given_with_a_prior_from_the_table() -> None:
    frame = FRAME[["sex", "street", "smokes"]].assign(street=FRAME["street"].str[:2])
    r = lw.protect(frame, "smokes", **TABLE)
    assert r.mechanism.given == ("sex", "street")


def test_a_public_prior_of_the_secret_alone_is_refused_with_the_three_commands() -> None:
    with pytest.raises(lw.InvalidInput) as told:
        lw.protect(FRAME[["sex", "street", "smokes"]], "smokes", prior=PRIOR, lift=2)
    for command in ("--unrelated sex,street", "--drop sex,street", "--prior-from-table --failure 1e-6"):
        assert command in str(told.value)


@pytest.mark.parametrize(
    "said", [{"drop": ["name", "sex", "age", "street"]}, {"drop": ["name", "sex", "age"], "unrelated": "street"}]
)
def test_a_public_prior_serves_where_nothing_else_tells(said: dict[str, Any]) -> None:
    r = lw.protect(FRAME, "smokes", prior=PRIOR, lift=2, **said)
    assert isinstance(r.mechanism, lw.Mechanism)
    assert "by seeing the row" in r.guarantee


def test_what_holds_for_every_prior_covers_every_column() -> None:
    r = lw.protect(FRAME, "smokes", prior=lw.AllPriors(PRIOR), lift=2)
    assert list(r.table) == list(FRAME)
    assert "for anyone, whatever they knew" in r.guarantee


def test_public_priors_by_stratum_are_taken_as_they_are() -> None:
    cp = lw.PriorByStratum({"f": {"no": 0.8, "yes": 0.2}, "m": {"no": 0.5, "yes": 0.5}}, given="sex", secret="smokes")
    others = {"drop": ["name", "age", "street"]}
    r = lw.protect(FRAME, "smokes", prior=cp, lift=2, **others)
    assert r.certificate.priors == cp
    with pytest.raises(lw.InvalidInput, match=r"is by sex, and 'name', 'age' and 'street' would go out as well"):
        lw.protect(FRAME, "smokes", prior=cp, lift=2)
    with pytest.raises(lw.InvalidInput, match=r"names 'age', and prior .* is by sex only"):
        lw.protect(FRAME, "smokes", prior=cp, lift=2, given=["sex", "age"], drop=["name", "street"])
    with pytest.raises(lw.InvalidInput, match="must go out"):
        lw.protect(FRAME, "smokes", prior=cp, lift=2, drop=["name", "age", "street", "sex"])
    never = lw.PriorByStratum({"f": {"no": 1, "yes": 0}, "m": {"no": 0.5, "yes": 0.5}}, given="sex", secret="smokes")
    with pytest.raises(lw.InvalidInput, match=r"rows where sex = f with values to which the prior gives no prob"):
        lw.protect(FRAME, "smokes", prior=never, lift=2, **others)


def test_given_columns_need_priors_of_their_own() -> None:
    with pytest.raises(lw.InvalidInput, match=r"prior is about smokes alone, and given .* names sex"):
        lw.protect(FRAME[["sex", "smokes"]], "smokes", given="sex", prior=PRIOR, lift=2)
    with pytest.raises(lw.InvalidInput, match="'name', 'age' and 'street' would go out as well"):
        lw.protect(FRAME, "smokes", given=["sex"], **TABLE)


def test_a_column_that_is_not_unrelated_is_refused_with_its_numbers() -> None:
    with pytest.raises(lw.InvalidInput, match=r"'age', and the table contradicts it: .* rows where age") as told:
        lw.protect(FRAME, "smokes", given="sex", unrelated=["age", "street"], drop="name", **TABLE)
    assert "times as often" in str(told.value)
    assert "--given age" in str(told.value)
    # Two columns that tell only together are found together.
    generator = np.random.default_rng(3)
    one, other = generator.integers(0, 2, (2, 4000))
    both = pd.DataFrame({"s": np.where(one ^ other, "yes", "no"), "one": one, "other": other})
    both["s"] = np.where(generator.random(4000) < 0.5, both["s"], generator.choice(DOMAIN, 4000))
    with pytest.raises(lw.InvalidInput, match="'one' and 'other', and the table contradicts it"):
        lw.protect(both, "s", prior={"no": 0.5, "yes": 0.5}, lift=2, unrelated=["one", "other"])


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_files_are_released_by_strata(suffix: str, tmp_path: Path) -> None:
    source, out = tmp_path / f"t.{suffix}", tmp_path / f"o.{suffix}"
    {
        "csv": lambda: FRAME.to_csv(source, index=False),
        "parquet": lambda: FRAME.to_parquet(source, index=False),
        "jsonl": lambda: FRAME.to_json(source, orient="records", lines=True),
    }[suffix]()
    said = {"given": "sex", "unrelated": "street", "drop": ["name", "age"]}
    r = lw.protect(source, "smokes", out=out, ledger=tmp_path / "l.db", **said, **TABLE)
    assert r.table == out
    assert r.mechanism.given == ("sex",)
    with pytest.raises(lw.InvalidInput, match="'age', and the table contradicts it"):
        lw.protect(source, "smokes", out=out, overwrite=True, given="sex", unrelated=["age"], drop=["name", "street"],
                   **TABLE)  # fmt: skip
    estimated = lw.estimate(out, r.mechanism, "smokes")
    truth = (FRAME["smokes"] == "yes").mean()
    assert abs(estimated.frequencies[1] - truth) < 6 * estimated.standard_error[1]


def test_the_command_says_it_all(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    words = ["release", str(tmp_path / "t.csv"), "-c", "smokes", "--domain", "no,yes", "--lift", "2"]
    words += ["--prior-from-table", "--failure", "1e-6", "--given", "sex", "--unrelated", "street", "--drop", "name"]
    done = CliRunner().invoke(app, [*words, "--coarsen", "age=bins:18,90,2", "--least-rows", "500"])
    assert done.exit_code == 0, done.output
    assert "as sex and age make it already" in " ".join(done.stdout.split())
    released = pd.read_csv(tmp_path / "t.released.csv")
    assert list(released) == ["sex", "age", "street", "smokes"]
    assert set(released["age"]) == {"[18, 54)", "[54, 90]"}
    estimated = CliRunner().invoke(
        app, ["estimate", str(tmp_path / "t.released.csv"), "-m", str(tmp_path / "t.released.mechanism.json")]
    )
    assert estimated.exit_code == 0, estimated.output
    wrong = CliRunner().invoke(app, [*words, "--coarsen", "age=18,90", "--overwrite"])
    assert "--coarsen must be NAME=bins:…, such as age=bins:0,100,10" in wrong.stderr


def test_files_by_stratum_are_options_of_the_command(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    cp = lw.PriorByStratum({"f": {"no": 0.8, "yes": 0.2}, "m": {"no": 0.5, "yes": 0.5}}, given="sex", secret="smokes")
    cp.save(tmp_path / "cp.json")
    lw.design(cp, lift=2, anyone=20, utility="frequencies").mechanism.save(tmp_path / "m.json")
    words = ["release", str(tmp_path / "t.csv"), "-c", "smokes", "--prior", str(tmp_path / "cp.json"), "--lift", "2"]
    words += ["--drop", "name,age,street", "--overwrite"]
    for more in ([], ["--mechanism", str(tmp_path / "m.json")]):
        done = CliRunner().invoke(app, [*words, *more])
        assert done.exit_code == 0, done.output
        assert "as sex makes it already" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"least_rows": 0}, "least_rows .* must be a whole number"),
        ({"prior_cost": 0}, "prior_cost"),
        ({"prior": PRIOR, "failure": None, "prior_cost": 0.1}, "prior_cost .* goes with prior='table'"),
        ({"given": ["sexx"]}, "Did you mean 'sex'"),
    ],
)
def test_what_does_not_fit_is_refused(said: dict[str, Any], words: str) -> None:
    with pytest.raises(lw.InvalidInput, match=words):
        lw.protect(FRAME, "smokes", **{**TABLE, "given": "sex", "drop": ["name", "age", "street"], **said})


def test_noisy_counts_serve_with_and_without_given_columns(tmp_path: Path) -> None:
    """What was paid for is part of the limits, and the certificate can be shown: it has no count of the table."""
    for said in ({"given": "sex", "drop": ["name", "age", "street"]}, {"drop": ["name", "age", "street", "sex"]}):
        r = lw.protect(FRAME, "smokes", prior_cost=0.1, **said, **TABLE)
        assert "2 times as likely" in r.guarantee
        assert "0.1" in r.guarantee
        r.certificate.save(tmp_path / "c.json")
        assert lw.verify(tmp_path / "c.json").holds
        # Noise can be 0, about once in twenty; not five times in turn, unless the counts are those of the table.
        exact = str((FRAME["smokes"] == "yes").sum())
        shown = []
        for _ in range(5):
            shown.append(exact in (tmp_path / "c.json").read_text(encoding="utf-8"))
            lw.protect(FRAME, "smokes", prior_cost=0.1, **said, **TABLE).certificate.save(tmp_path / "c.json")
        assert not all(shown)
        assert r.report(tmp_path / "r.html").exists()


def test_given_columns_that_say_what_the_secret_is_in_some_rows_are_told_of() -> None:
    """The guarantee would be true and worth nothing there: the copy goes out in clear."""
    frame = FRAME[["smokes"]].assign(copy=FRAME["smokes"].where(np.arange(len(FRAME)) % 3 == 0, "unknown"))
    with pytest.warns(lw.LeakwiseWarning, match="In 4,000 of 12,000 rows copy determines smokes"):
        lw.protect(frame, "smokes", **TABLE)


def test_an_order_by_given_columns_tells_nothing_more() -> None:
    frame = FRAME[["sex", "smokes"]].sort_values("sex", kind="stable", ignore_index=True)
    assert "no sign of the secret found" in repr(lw.protect(frame, "smokes", **TABLE))
    with pytest.raises(lw.InvalidInput, match="order"):
        lw.protect(frame, "smokes", drop="sex", **TABLE)
    with pytest.raises(lw.InvalidInput, match="order"):
        lw.protect(frame.sort_values(["sex", "smokes"], ignore_index=True), "smokes", **TABLE)


def test_columns_that_cannot_be_named_are_covered_by_every_prior_or_refused() -> None:
    """Lists are no values of a stratum: as given columns they are served by what holds for every prior."""
    frame = FRAME[["sex", "smokes"]].assign(visits=[[place] for place in range(len(FRAME))])
    with pytest.warns(lw.LeakwiseWarning, match="sex and visits are too many to be named, or are not plain"):
        r = lw.protect(frame, "smokes", **TABLE)
    assert "for anyone, whatever they knew" in r.guarantee
    with pytest.raises(lw.InvalidInput, match=r"unrelated .* names 'visits', .* not plain"):
        lw.protect(frame, "smokes", given="sex", unrelated="visits", **TABLE)


def test_missing_values_of_given_columns_are_a_value_of_their_own() -> None:
    frame = FRAME[["sex", "smokes"]].assign(sex=FRAME["sex"].where(np.arange(len(FRAME)) % 4 > 0, None))
    r = lw.protect(frame, "smokes", **TABLE)
    assert set(r.mechanism.strata) == {"f", "m", None}
    assert r.table["sex"].isna().sum() == 3000


@pytest.mark.parametrize("kind", ["polars", "lazy", "arrow", "mapping", "category"])
def test_every_kind_of_table_is_released_by_strata(kind: str) -> None:
    import polars as pl
    import pyarrow as pa

    frame = FRAME[["sex", "smokes"]]
    data: Any = {
        "polars": lambda: pl.from_pandas(frame),
        "lazy": lambda: pl.from_pandas(frame).lazy(),
        "arrow": lambda: pa.Table.from_pandas(frame),
        "mapping": lambda: {name: list(frame[name]) for name in frame},
        "category": lambda: frame.astype({"sex": "category"}),
    }[kind]()
    r = lw.protect(data, "smokes", **TABLE)
    assert type(r.table) is type(data)
    assert r.mechanism.given == ("sex",)
