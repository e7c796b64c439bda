"""Totals of releases beside given columns: never below the truth for anyone who sees all the rows."""

from __future__ import annotations

import math
import sqlite3
from fractions import Fraction

import numpy as np
import pytest
from accounts import accounts, random_joint, random_release, true_lift
from typer.testing import CliRunner

import leakwise as lw
from leakwise.alphabet import Alphabet, Bins
from leakwise.cli import app
from leakwise.priors.sets.noisy import NoisyLayerCake
from leakwise.tables.ledger.joint_total import together
from leakwise.tables.row_columns import RowColumns


@pytest.fixture
def ledger(tmp_path):
    return lw.Ledger(tmp_path / "ledger.db")


@pytest.mark.parametrize("seed", range(40))
def test_totals_beside_given_columns_are_never_below_the_truth(seed):
    accounts(np.random.default_rng([23, seed]))


def test_releases_of_one_secret_beside_the_same_columns_are_composed_exactly(ledger):
    generator = np.random.default_rng(5)
    joint = random_joint(generator)
    made = [(("a",), ("b",), random_release(generator, joint, ("a",), ("b",))) for _ in range(2)]
    for secret, _, certificate in made:
        ledger.confirm(ledger.reserve("d", secret, certificate))
    total = ledger.total("d", "a")
    assert total.exact
    assert total.epsilon == pytest.approx(math.log(true_lift(joint, made, ("a",), ("b",))))


def by_sex(lift, anyone=None, **more):
    """Randomized response beside sex, with a prior per stratum at which its lift is known."""
    m = lw.randomized_response(["no", "yes"], lift=3)
    priors = lw.PriorByStratum(
        {"f": lw.Prior({"no": 0.5, "yes": 0.5}), "m": lw.Prior({"no": 0.75, "yes": 0.25})}, "sex"
    )
    sm = lw.StratifiedMechanism({"f": m, "m": m}, priors.given_columns, **more)
    return lw.certify(sm, priors, lift=lift, anyone=anyone)


PLAIN = lw.certify(lw.randomized_response(["no", "yes"], lift=3), lw.Prior({"no": 0.6, "yes": 0.4}))


def test_a_plain_release_counts_with_its_limit_for_anyone_beside_given_columns(ledger):
    """Its promise was for a prior that knows nothing of the given columns."""
    beside = by_sex(2)
    ledger.confirm(ledger.reserve("d", "s", PLAIN))
    assert ledger.total("d", "s").epsilon == PLAIN.epsilon_upper
    ledger.confirm(ledger.reserve("d", "s", beside))
    total = ledger.total("d", "s")
    assert total.beside.given == ("sex",)
    assert total.exact  # composed with the priors of the strata
    ledger.confirm(ledger.reserve("d", "job", beside, row=RowColumns(("job",), ("sex",), ("zip",))))
    # Now zip is seen, of which neither release of s says anything: only limits for anyone are left.
    total = ledger.total("d", "s")
    assert not total.exact
    # The release of job is certified beside all that is seen, and tells about s where the two are correlated.
    assert total.epsilon == pytest.approx(2 * math.log(3) + beside.epsilon_upper)
    assert total.beside.unrelated == ("zip",)


def test_a_column_that_went_out_as_it_is_has_no_total(ledger):
    ledger.set_budget("d", "sex", lift=5)
    ledger.set_budget("d", "job", lift=5)
    with pytest.raises(lw.Infeasible, match=r"sex of d went out as it is, unprotected, in this release"):
        ledger.reserve("d", "s", by_sex(2))
    ledger.confirm(ledger.reserve("other", "s", by_sex(2), row=RowColumns(("s",), ("sex",), ("job",))))
    assert math.isinf(ledger.total("other", "job").epsilon)
    assert ledger.total("other", "job").in_clear == (1,)
    assert not math.isinf(ledger.total("other", "s").epsilon)
    assert "job of other went out as it is, unprotected, in entry 1" in ledger.total("other", "job").sentence


def test_a_new_column_beside_one_secret_counts_for_the_budget_of_another(ledger):
    """A release of s kept its budget; in a table of another secret sex is seen, of which the first one knew nothing."""
    ledger.set_budget("d", "s", lift=2)
    ledger.confirm(ledger.reserve("d", "s", PLAIN))
    other = by_sex(2)
    with pytest.raises(lw.Infeasible, match="the budget of 's' counts, too"):
        ledger.reserve("d", "t", other)
    ledger.confirm(ledger.reserve("e", "s", PLAIN, row=RowColumns(("s",), (), ("sex",))))
    ledger.confirm(ledger.reserve("e", "t", other))
    # Sex was assumed to tell nothing about s; t may: one of the two lifts, and the limit for anyone of the other.
    lifts = sorted([PLAIN.epsilon_upper, other.epsilon_upper])
    assert ledger.total("e", "s").epsilon == pytest.approx(lifts[0] + math.log(3))


def test_strata_without_a_prior_count_with_the_limit_for_anyone(ledger):
    weak = by_sex(2, otherwise=lw.randomized_response(["no", "yes"], lift=2))
    for _ in range(2):
        ledger.confirm(ledger.reserve("d", "s", weak))
    total = ledger.total("d", "s")
    assert not total.exact
    assert total.epsilon >= math.log(4)
    assert total.epsilon <= weak.epsilon_upper + math.log(3) + 1e-9


def test_what_a_noisy_prior_costs_is_added_every_time(ledger):
    letters, m = Alphabet(["no", "yes"]), lw.randomized_response(["no", "yes"], lift=3)
    noisy = NoisyLayerCake(letters, [6012, 3988], 10_000, Fraction("0.1"), 1e-6)
    priors = lw.PriorByStratum({"f": noisy, "m": noisy}, {"sex": ["f", "m"]})
    paid = lw.certify(lw.StratifiedMechanism({"f": m, "m": m}, priors.given_columns), priors)
    for times in (1, 2):
        ledger.confirm(ledger.reserve("d", "s", paid))
        free = together([m] * times, noisy).epsilon
        assert ledger.total("d", "s").epsilon == pytest.approx(free + times * 0.1, abs=1e-8)
    assert ledger.entries()[0].cost == pytest.approx(0.1)
    ledger.confirm(ledger.reserve("plain", "s", lw.certify(m, noisy)))
    assert ledger.total("plain", "s").epsilon >= lw.certify(m, noisy).epsilon_upper + 0.1


def test_a_column_in_bins_is_not_the_column_as_it_is(ledger):
    """A release beside decades of age does not cover someone who saw the age itself in another table."""
    decades, exact = lw.bins(0, 20, 2), [5, 15]
    m = lw.randomized_response(["no", "yes"], lift=3)

    def beside(domain):
        known = lw.Prior({"no": 0.75, "yes": 0.25})
        keys = domain.labels if isinstance(domain, Bins) else domain
        priors = lw.PriorByStratum(dict.fromkeys(keys, known), {"age": domain})
        return lw.certify(lw.StratifiedMechanism(dict.fromkeys(keys, m), priors.given_columns), priors)

    ledger.confirm(ledger.reserve("d", "s", beside(decades)))
    assert ledger.total("d", "s").lift == pytest.approx(2)
    ledger.confirm(ledger.reserve("d", "s", beside(exact)))
    # Only the second one is certified for anyone who saw both; the first counts with its limit for anyone.
    total = ledger.total("d", "s")
    assert not total.exact
    assert total.lift == pytest.approx(6)
    assert [one.beside.bins for one in ledger.entries()] == [(("age", (0.0, 10.0, 20.0)),), ()]
    assert math.isinf(ledger.total("d", "age").epsilon)


def test_entries_beside_given_columns_survive_and_make_the_third_version(ledger):
    def version():
        with sqlite3.connect(ledger.path) as db:
            (found,) = db.execute("PRAGMA user_version").fetchone()
        db.close()
        return found

    ledger.confirm(ledger.reserve("d", "s", PLAIN))
    assert version() == 2  # nothing new is in it
    certificate = by_sex(2, anyone=3)
    ledger.confirm(ledger.reserve("d", "s", certificate, row=RowColumns(("s",), ("sex",), ("zip",)), rows=7))
    assert version() == 3
    ledger.confirm(ledger.reserve("d", "s", PLAIN))
    plain, one, again = lw.Ledger(ledger.path).entries()
    assert (plain.beside, again.beside) == (None, None)
    assert one.mechanism == certificate.mechanism
    assert one.prior == certificate.priors
    assert (one.beside.given, one.beside.unrelated, one.rows) == (("sex",), ("zip",), 7)
    assert one.to_dict()["given"] == ["sex"]
    assert ledger.to_dict()["totals"][0]["given"] == ["sex"]


def test_a_certificate_beside_other_columns_than_go_out_is_refused(ledger):
    with pytest.raises(lw.InvalidInput, match="must be beside the columns that go out with the secret, 'job'"):
        ledger.reserve("d", "s", by_sex(2), row=RowColumns(("s",), ("job",)))
    with pytest.raises(lw.InvalidInput, match="It is beside none"):
        ledger.reserve("d", "s", PLAIN, row=RowColumns(("s",), ("sex",)))
    everyone = lw.certify(PLAIN.mechanism, lw.AllPriors(["no", "yes"]))
    ledger.confirm(ledger.reserve("d", "s", everyone, row=RowColumns(("s",), ("sex",))))
    assert ledger.total("d", "s").beside.given == ("sex",)
    assert ledger.total("d", "s").lift == pytest.approx(3)


def test_ledger_show_says_what_the_total_compares_with(ledger):
    ledger.confirm(ledger.reserve("d", "s", by_sex(2), row=RowColumns(("s",), ("sex",), ("zip",))))
    shown = CliRunner().invoke(app, ["ledger", "show", str(ledger.path)])
    assert shown.exit_code == 0
    words = " ".join(shown.output.split())
    assert "All releases of d together make no guess about s more than" in words
    assert "as sex makes it already, for anyone who sees the rows (rows independent; if zip tells nothing ab" in words
    entries = CliRunner().invoke(app, ["ledger", "entries", str(ledger.path)]).output
    assert "given" in entries
    assert "sex" in entries
