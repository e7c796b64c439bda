"""Certificates of what an answer tells about a record: stored, checked by code of their own, and not to be forged."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise import records
from leakwise.cli import app
from leakwise.proof import PointwiseRecordCertificate


def certificate(channel: records.Channel, b: float) -> PointwiseRecordCertificate:
    found = records.leakage(channel, min_entropy=b, measure="pointwise").certificate
    assert found is not None
    return found


PROVEN = {
    "parity": lambda: certificate(records.parity(4).symmetric_channel(0.3), 2.0),
    "near the maximum": lambda: certificate(records.count(20).geometric(1.0), 13.7),
    "two kinds of records": lambda: certificate(records.weighted_sum([1, 1, 2]).geometric(0.5), 1.5),
    "ternary": lambda: certificate(records.modular_sum(4, 3, alphabet=3).symmetric_channel(0.2), 3.9),
    "a thousand": lambda: certificate(records.modular_sum(1000, 5).symmetric_channel(0.3), 692.9),
}


@pytest.mark.parametrize("name", PROVEN)
def test_it_is_stored_and_checked(name: str, tmp_path: Path) -> None:
    proven = PROVEN[name]()
    proven.save(tmp_path / "c.json")
    again = lw.verify(tmp_path / "c.json")
    assert isinstance(again, PointwiseRecordCertificate)
    assert again.sentence == proven.sentence
    assert (again.cases, again.ratio, again.min_entropy) == (proven.cases, proven.ratio, proven.min_entropy)


@pytest.mark.parametrize("name", PROVEN)
def test_a_smaller_lift_is_rejected(name: str) -> None:
    """The lift that is claimed is the least that can be proven, up to a part in 10^12."""
    proven = PROVEN[name]()
    with pytest.raises(lw.CertificateRejected, match="times as likely"):
        replace(proven, ratio=1 + (proven.ratio - 1) * (1 - Fraction(1, 10**12))).verify()


def test_an_adversary_who_may_know_more_is_rejected() -> None:
    proven = PROVEN["parity"]()
    with pytest.raises(lw.CertificateRejected, match="times as likely"):
        replace(proven, min_entropy=proven.min_entropy - Fraction(1, 10**9)).verify()
    with pytest.raises(lw.CertificateRejected, match="at least 0"):
        replace(proven, min_entropy=Fraction(-1)).verify()


def test_forged_classes_are_rejected() -> None:
    proven = PROVEN["parity"]()
    (case,) = proven.cases
    forged = {
        "every record once": replace(case, records=(0, 0, 1, 2)),
        "equally many datasets": replace(case, datasets=(case.datasets[0] + 1, *case.datasets[1:])),
        "sum to": replace(case, rows=((0.3, 0.3), *case.rows[1:])),
        "one for each outcome": replace(case, rows=((1.0,), *case.rows[1:])),
        "times as likely": replace(case, datasets=tuple(4 * m // 5 for m in case.datasets[:2]) + case.datasets[2:]),
    }
    forged["times as likely"] = replace(case, rows=((0.8, 0.2), *case.rows[1:]))
    for words, classes in forged.items():
        with pytest.raises(lw.CertificateRejected, match=words):
            replace(proven, cases=(classes,)).verify()
    both = PROVEN["two kinds of records"]()
    smaller = replace(both.cases[1], datasets=tuple(2 * m for m in both.cases[1].datasets))
    with pytest.raises(lw.CertificateRejected, match="different number"):
        replace(both, cases=(both.cases[0], smaller)).verify()


def test_the_place_that_is_shown_is_where_it_is_reached() -> None:
    proven = certificate(records.Query(lambda x: x[0], [2]).channel([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]]), 0.69)
    assert proven.outcomes[proven.outcome] == "2"
    with pytest.raises(lw.CertificateRejected, match="not reached there"):
        replace(proven, outcome=0).verify()


def test_a_larger_lift_at_one_place_only_is_found() -> None:
    """A class that only one outcome of one record tells apart: the check looks at all of them."""
    rows = np.full((8, 4), 0.25)
    rows[5] = [0.25, 0.25, 0.2, 0.3]
    proven = certificate(records.Query(np.arange(8).reshape(2, 2, 2), [2, 2, 2]).channel(rows, by="dataset"), 1.0)
    assert proven.outcomes[proven.outcome] in ("2", "3")
    with pytest.raises(lw.CertificateRejected):
        replace(proven, ratio=Fraction(1)).verify()


def test_the_command_saves_and_verifies(tmp_path: Path) -> None:
    path, run = str(tmp_path / "proof.json"), CliRunner()
    words = ["records", "leakage", "parity:n=4", "symmetric:flip=0.3"]
    asked = [*words, "--measure", "pointwise", "--min-entropy", "2", "--certificate", path]
    assert "1.4479 times as likely" in run.invoke(app, asked, catch_exceptions=False).stdout
    checked = run.invoke(app, ["verify", path], catch_exceptions=False)
    assert checked.exit_code == 0
    assert checked.stdout.startswith("Verified. No answer makes a guess about a record")
    assert run.invoke(app, [*words, "-b", "2.5", "--certificate", path]).exit_code == 0
    checked = run.invoke(app, ["verify", path], catch_exceptions=False)
    assert "learns more than 0.0400" in " ".join(checked.stdout.split())
    refused = run.invoke(app, [*words, "--method", "alternating", "--restarts", "1", "--certificate", path])
    assert refused.exit_code == 2
    assert "has no certificate" in refused.stderr


def test_a_forged_min_entropy_gets_no_endless_computation(tmp_path: Path) -> None:
    real = PROVEN["parity"]()
    replace(real, min_entropy=real.min_entropy + Fraction(1, 2**40_000)).save(tmp_path / "c.json")
    with pytest.raises(lw.InvalidInput, match="more than 8,192 digits"):
        lw.verify(tmp_path / "c.json")
