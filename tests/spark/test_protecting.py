"""``lw.spark.protect``: one secret or several, from counts, with certificate and ledger, drawn once by executors."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leakwise as lw
from leakwise.errors import InvalidInput

DOMAIN = {"ill": ["no", "yes"], "old": ["young", "old"]}
ROWS = 6000


def people(session: Any) -> Any:
    """Whether someone is old goes with whether they are ill."""
    first, second, third = (f"conv(substr(md5(cast(id as string)), {place}, 2), 16, 10)" for place in (1, 3, 5))
    likely = f"(case when {first} < 80 then 190 else 70 end)"
    return session.range(0, ROWS, 1, 3).selectExpr(
        f"case when {first} < 80 then 'yes' else 'no' end as ill",
        f"case when {second} < {likely} then 'old' else 'young' end as old",
        f"case when {third} < 128 then 'f' else 'm' end as sex",
        "cast(id as string) as name",
    )


def test_several_secrets_are_designed_from_counts_entered_and_drawn_in_one_pass(spark: Any, tmp_path: Path) -> None:
    ledger = lw.Ledger(tmp_path / "ledger.db")
    done = lw.spark.protect(
        people(spark),
        {"ill": 1.5, "old": 2},
        prior="table",
        failure=1e-6,
        domain=DOMAIN,
        drop=["name"],
        path=tmp_path / "out",
        ledger=ledger,
        dataset="clinic",
    )
    assert done.table.columns == ["ill", "old", "sex"]
    assert done.table.count() == ROWS
    assert done.certificate.verify().ratio <= 3
    assert done.certificate.parts[1].alone is not None
    assert done.mechanism["old"].given == ("sex",)
    assert [one.state for one in ledger.entries()] == ["released", "released"]
    assert math.exp(ledger.total("clinic", "ill").epsilon) <= 3 + 1e-9
    found = lw.estimate(done.table.toArrow(), done.mechanism)
    true = {(row[0], row[1]): row[2] / ROWS for row in people(spark).groupBy("ill", "old").count().collect()}
    expected = np.array([[true[ill, old] for old in DOMAIN["old"]] for ill in DOMAIN["ill"]])
    assert (np.abs(found.frequencies - expected) < 5 * found.standard_error + 1e-9).all()
    with pytest.raises(InvalidInput, match="exists already"):
        lw.spark.protect(
            people(spark), {"ill": 1.5}, prior={"ill": lw.Prior.uniform(DOMAIN["ill"])}, unrelated=["sex"],
            drop=["name", "old"], path=tmp_path / "out",
        )  # fmt: skip


def test_one_secret_by_strata_and_a_joint_prior_of_two(spark: Any, tmp_path: Path) -> None:
    options: dict[str, Any] = {"drop": ["name", "old"], "prior": "table", "failure": 1e-6, "domain": DOMAIN["ill"]}
    tried = lw.spark.protect(people(spark), "ill", lift=2, path=tmp_path / "one", dry_run=True, **options)
    assert tried.table is None
    assert not (tmp_path / "one").exists()
    one = lw.spark.protect(people(spark), "ill", lift=2, path=tmp_path / "one", partition_by="sex", **options)
    assert one.guarantee == tried.guarantee
    assert "6,000 rows" in one.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert (tmp_path / "one" / "sex=f").is_dir()
    assert one.mechanism.given == ("sex",)
    assert one.certificate.holds
    assert sorted(one.table.columns) == ["ill", "sex"]
    joint = lw.Prior({("no", "young"): 0.5, ("no", "old"): 0.2, ("yes", "young"): 0.1, ("yes", "old"): 0.2})
    two = lw.spark.protect(
        people(spark), {"ill": 1.5, "old": 1.5}, prior=joint, drop=["name", "sex"], path=tmp_path / "two"
    )
    assert two.certificate.exact[(0, 1)] <= two.certificate.verify().ratio
    assert two.table.columns == ["ill", "old"]


def test_given_columns_that_changed_beside_the_same_secret_are_seen(spark: Any, tmp_path: Path) -> None:
    ledger = lw.Ledger(tmp_path / "ledger.db")
    one = people(spark).select("ill", "sex")
    other = people(spark).selectExpr("ill", "if(ill = 'yes' and rand(1) < 0.5, 'f', sex) as sex")
    prior = lw.PriorByStratum(dict.fromkeys("fm", lw.Prior.uniform(DOMAIN["ill"])), given="sex")
    found = []
    for place, year in enumerate((one, one, other)):
        lw.spark.protect(
            year, "ill", lift=1.5, prior=prior, path=tmp_path / str(place), ledger=ledger, dataset="clinic",
            allow_certainty=True,
        )  # fmt: skip
        found.append(ledger.total("clinic", "ill").changed)
    assert found == [False, False, True]


def test_what_spark_cannot_do_is_said(spark: Any) -> None:
    with pytest.raises(InvalidInput, match="'unsafe_seed' must be left out on Spark"):
        lw.spark.protect(people(spark), "ill", lift=2, prior=lw.Prior.uniform(DOMAIN["ill"]), unsafe_seed=1)
    with pytest.raises(InvalidInput, match="outside the declared domain"):
        lw.spark.protect(
            people(spark), "ill", lift=2, prior=lw.Prior.uniform(["no", "maybe"]), drop=["old", "sex", "name"]
        )
