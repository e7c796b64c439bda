"""No silent identity: a release that can be read is refused before anything is drawn, entered or written."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli.app import app
from leakwise.sklearn import LeakageRandomizer

SEX = np.random.default_rng(7).permutation(["1"] * 138 + ["2"] * 90).tolist()
LUNG = pd.DataFrame({"time": range(228), "sex": SEX})
EVEN = lw.Prior({"1": 0.5, "2": 0.5})
BESIDE = "time"  # tells nothing about sex here


def test_a_uniform_column_at_lift_two_is_not_handed_out_in_clear(tmp_path):
    source, out, ledger = tmp_path / "lung.csv", tmp_path / "out.csv", tmp_path / "ledger.db"
    LUNG.to_csv(source, index=False)
    saved = []
    with pytest.raises(lw.InvalidInput, match=r"^228 of 228 rows of 'sex' could be read: .*'1', '2' certain.*Nothing"):
        lw.protect(
            source,
            "sex",
            unrelated=BESIDE,
            prior=EVEN,
            lift=2,
            anyone=None,
            out=out,
            ledger=ledger,
            certified=saved.append,
        )
    assert not out.exists()
    assert not saved
    assert not ledger.exists() or not lw.Ledger(ledger).entries()
    done = lw.protect(
        source, "sex", unrelated=BESIDE, prior=EVEN, lift=2, anyone=None, out=out, ledger=ledger, allow_certainty=True
    )
    assert len(lw.Ledger(ledger).entries()) == 1
    assert done.certificate.holds


def test_the_limit_for_anyone_covers_every_row_by_default(tmp_path):
    done = lw.protect(LUNG, "sex", unrelated=BESIDE, prior=EVEN, lift=2)
    assert (done.mechanism.weights > 0).all()
    assert lw.ldp(done.mechanism) <= np.log(20) * (1 + 1e-12)


def test_common_values_that_become_certain_are_counted_in_the_table():
    prior = lw.Prior({"common": 0.6, "b": 0.25, "c": 0.15})
    rows = np.random.default_rng(3).permutation(["common"] * 60 + ["b"] * 30 + ["c"] * 10).tolist()
    tells = lw.Mechanism([["1/2", "1/2"], [0, 1], [0, 1]], ["common", "b", "c"], ["!", "?"])
    with pytest.raises(lw.InvalidInput, match=r"^30 of 100 rows of 'column' could be read: the outcome '!' makes"):
        lw.protect(rows, prior=prior, lift=2, anyone=None, mechanism=tells)
    odd = lw.Mechanism([["1/4", "3/4"], [0, 1], [0, 1]], ["common", "b", "c"], ["!", "?"])
    with pytest.raises(lw.InvalidInput, match=r"^about 14 of 90 rows"):
        lw.protect(["common"] * 57 + ["b"] * 33, prior=prior, mechanism=odd, order="keep")


def test_the_values_are_counted_by_their_labels():
    tells = lw.Mechanism([["1/2", "1/2"], [0, 1]], ["a", "b"], ["!", "?"])
    with pytest.raises(lw.InvalidInput, match=r"^2 of 5 rows"):
        lw.protect(list("abaaa"), domain=["b", "a"], prior={"b": 0.4, "a": 0.6}, mechanism=tells, order="keep")


def test_a_best_guess_that_is_nearly_always_right_is_refused():
    often = lw.randomized_response(["1", "2"], lift=400)
    with pytest.raises(lw.InvalidInput, match=r"for about 227 of 228 rows: .*up to 99.76% of the rows, and for 50%"):
        lw.protect(LUNG, "sex", unrelated=BESIDE, prior=EVEN, mechanism=often)
    assert (
        len(lw.protect(LUNG, "sex", unrelated=BESIDE, prior=EVEN, mechanism=often, allow_certainty=True).table) == 228
    )
    lw.protect(LUNG, "sex", unrelated=BESIDE, prior=EVEN, mechanism=lw.randomized_response(["1", "2"], lift=90))


def test_rounded_frequencies_decide_for_a_prior_from_the_table():
    with pytest.raises(lw.InvalidInput, match=r"^228 of 228 rows"):
        lw.protect(LUNG, "sex", unrelated=BESIDE, prior="table", failure=1e-3, mechanism=lw.identity(["1", "2"]))


def test_the_report_says_that_rows_can_be_read_and_how_likely_each_value_can_become(tmp_path):
    allowed = lw.protect(
        LUNG, "sex", unrelated=BESIDE, prior=EVEN, mechanism=lw.identity(["1", "2"]), allow_certainty=True
    )
    page = allowed.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Rows can be read, which the owner of the table allowed" in page
    told = json.loads(allowed.report(tmp_path / "r.json").read_text(encoding="utf-8"))
    assert [one["most"] for one in told["letters"]] == [1.0, 1.0]
    safe = lw.protect(LUNG, "sex", unrelated=BESIDE, prior=EVEN, mechanism=lw.randomized_response(["1", "2"], lift=3))
    page = safe.report(tmp_path / "s.html").read_text(encoding="utf-8")
    assert "Rows can be read" not in page
    assert "75%" in page


def test_the_command_refuses_and_allows(tmp_path):
    source, out = tmp_path / "lung.csv", tmp_path / "out.csv"
    LUNG.to_csv(source, index=False)
    lw.identity([1, 2]).save(tmp_path / "m.json")
    command = ["release", str(source), "-c", "sex", "--domain", "1,2", "--prior", "uniform", "--out", str(out)]
    command += ["--mechanism", str(tmp_path / "m.json"), "--unrelated", BESIDE]
    refused = CliRunner().invoke(app, command)
    assert refused.exit_code != 0
    assert "228 of 228 rows" in " ".join(refused.output.split())
    assert "--allow-certainty" in refused.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lung.csv", "m.json"]
    assert CliRunner().invoke(app, [*command, "--allow-certainty"]).exit_code == 0
    assert pd.read_csv(out)["sex"].astype(str).tolist() == SEX


def test_a_worst_case_mask_needs_to_be_allowed():
    mask = lw.WorstCase([[1, 0, 1], [0, 1, 1]], outputs=["1", "2", "either"], then="mutual_information")
    chosen = lw.design(EVEN, lift=2, utility=mask).mechanism
    with pytest.raises(lw.InvalidInput, match="could be read"):
        lw.protect(LUNG, "sex", unrelated=BESIDE, prior=EVEN, mechanism=chosen)
    assert lw.protect(
        LUNG, "sex", unrelated=BESIDE, prior=EVEN, mechanism=chosen, allow_certainty=True
    ).certificate.holds


def test_the_randomizer_refuses_in_fit():
    rows = [[value] for value in SEX]
    with pytest.raises(lw.InvalidInput, match=r"^228 of 228 rows of '0' could be read"):
        LeakageRandomizer(lift=2, anyone=None, prior=EVEN).fit(rows)
    kept = LeakageRandomizer(lift=2, anyone=None, prior=EVEN, allow_certainty=True).fit(rows)
    assert kept.get_params()["allow_certainty"] is True
    assert LeakageRandomizer(lift="3/2", prior=EVEN).fit(rows).transform(rows).shape == (228, 1)


def test_release_warns_of_what_one_value_alone_can_cause():
    with pytest.warns(lw.CertaintyWarning, match="Rows of 'sex' can be read: the outcomes '1', '2' make the values"):
        lw.release(LUNG, lw.identity(["1", "2"]), column="sex")
    with pytest.warns(lw.CertaintyWarning, match="Rows of the column can be read: the outcome '!' makes the value 'a'"):
        lw.release(["a", "b"], lw.Mechanism([["1/2", "1/2"], [0, 1]], ["a", "b"], ["!", "?"]))


@pytest.mark.filterwarnings("error::leakwise.errors.CertaintyWarning")
def test_release_by_a_mechanism_with_cover_does_not_warn():
    lw.release(SEX, lw.randomized_response(["1", "2"], lift=Fraction(1000)))
    lw.release(["a", "b", "c"] * 9, lw.Mechanism([["1/2", "1/2"], ["1/2", "1/2"], [0, 1]], list("abc")), order="keep")


def test_a_release_that_some_prior_of_the_set_could_read_is_refused():
    """Judged in the middle it went out, although who knows that nobody here has c reads every b."""
    rows, third = ["a", "b", "c", "a"] * 30, Fraction(1, 3)
    says = lw.Mechanism(
        [[1, 0], [third, 2 * third], [third, 2 * third]], inputs=["a", "b", "c"], outputs=["a?", "not a"]
    )
    prior = lw.Prior({"a": 0.6, "b": 0.35, "c": 0.05})
    assert len(lw.protect(rows, prior=prior, mechanism=says.dyadic(60), order="keep").table) == 120
    with pytest.raises(lw.InvalidInput, match=r"20 of 120 rows .*'not a' makes the value 'b' certain for some prior"):
        lw.protect(rows, prior=prior.ball(0.2), mechanism=says.dyadic(60), order="keep")
    # With the limit for anyone, as by default, no prior can.
    covered = lw.randomized_response(["a", "b", "c"], lift=2)
    assert lw.protect(rows, prior=prior.ball(0.2), mechanism=covered, lift=3, order="keep").certificate.holds
