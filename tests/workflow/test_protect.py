"""A release in one call: what is checked first, what is promised, what the ledger is told."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leakwise as lw
from leakwise.priors.sample import coarse_prior
from leakwise.tables.formats.carried_mechanism import drawn_from_seed

PRIOR = lw.Prior({"no": 0.75, "yes": 0.25})
FRAME = pd.DataFrame({"id": range(400), "smokes": ["no", "no", "no", "yes"] * 100, "age": np.linspace(0, 99, 400)})
# In an order that tells nothing, which protect asks for.
FRAME[["smokes", "age"]] = FRAME[["smokes", "age"]].sample(frac=1, random_state=0).to_numpy()
FRAME["age"] = FRAME["age"].astype(float)
BESIDE = ["id", "age"]  # they tell nothing about smoking, and go out as they are


def test_the_example_of_the_design():
    r = lw.protect(FRAME, "smokes", unrelated=BESIDE, domain=["no", "yes"], lift=2, failure=1e-6, prior=PRIOR)
    assert isinstance(r.table, pd.DataFrame)
    pd.testing.assert_frame_equal(r.table.drop(columns="smokes"), FRAME.drop(columns="smokes"))
    assert set(r.table["smokes"]) <= set(r.mechanism.outputs)
    assert r.certificate.holds
    assert r.certificate.verify() is r.certificate
    assert r.epsilon <= np.log(2) + 1e-12
    assert "2 times as likely" in r.guarantee
    assert r.prior == PRIOR
    assert r.entry is None
    assert "statistics" in repr(r)
    assert "statistics" in r._repr_html_()
    assert r.chart()["description"]
    assert r.design is not None


@pytest.mark.parametrize("kind", [dict, pl.DataFrame, pl.LazyFrame, pd.DataFrame])
def test_kinds_in_memory(kind):
    data = {"smokes": ["no", "yes"] * 10}
    r = lw.protect(kind(data), "smokes", prior=PRIOR, lift=1.5)
    assert type(r.table) is kind


def test_a_bare_column():
    r = lw.protect(["no", "yes"] * 10, prior=PRIOR, lift=1.5)
    assert len(r.table) == 20
    with pytest.raises(lw.InvalidInput, match="column must be left out"):
        lw.protect(["no", "yes"], "smokes", prior=PRIOR, lift=1.5)


def test_reading_keeps_the_labels_and_beats_randomized_response():
    prior = lw.Prior({"a": 0.4, "b": 0.35, "c": 0.25})
    for lift in (1.5, 2, 3):
        r = lw.protect({"s": ["a", "b", "c"]}, "s", prior=prior, lift=lift, use="reading")
        assert set(r.mechanism.outputs) <= {"a", "b", "c"}
        compared = r.facts.comparison
        assert compared.ours.agreement >= compared.randomized_response.agreement - 1e-9


def test_a_release_that_says_nothing_is_said_to():
    prior = lw.Prior({"no": 0.9, "yes": 0.1})
    with pytest.warns(lw.LeakwiseWarning, match="reveals nothing about the secret"):
        r = lw.protect({"s": ["no", "yes"]}, "s", prior=prior, lift=1.01, use="reading", keep_frequencies=False)
    assert set(r.table["s"]) == {"no"}


def test_a_given_mechanism_is_certified_or_refused():
    m = lw.randomized_response(["no", "yes"], lift=3)
    r = lw.protect(FRAME, "smokes", unrelated=BESIDE, prior=PRIOR, mechanism=m)
    assert r.mechanism == m
    assert r.facts.use == "given"
    assert r.plot() is not None
    with pytest.raises(lw.CertificateRejected, match="more than asked"):
        lw.protect(FRAME, "smokes", unrelated=BESIDE, prior=PRIOR, mechanism=m, lift=1.5)
    thirds = lw.Mechanism([["2/3", "1/3"], ["1/3", "2/3"]], inputs=["no", "yes"], outputs=["no", "yes"])
    rounded = lw.protect(FRAME, "smokes", unrelated=BESIDE, prior=PRIOR, mechanism=thirds)
    assert rounded.mechanism.denominator == 1 << 60


def test_the_prior_from_the_table():
    r = lw.protect(
        FRAME, "smokes", unrelated=BESIDE, domain=["no", "yes", "perhaps"], prior="table", failure=1e-6, lift=2
    )
    assert r.facts.origin == "table"
    assert "if id and age tell nothing" in r.guarantee
    assert "rounded, are treated as public" in r.guarantee
    assert "with probability at most 1e-6" in r.guarantee
    assert r.prior.weights.tolist() == [15, 5, 1]
    assert r.prior.sample_size is None
    # The proof rests on the exact counts, the mechanism on the rounded ones.
    assert isinstance(r.certificate.prior, lw.LayerCake)
    assert r.certificate.prior.counts == (300, 100, 0)
    assert r.certificate.failure == 1e-6
    assert r.certificate.verify().holds
    assert r.plot() is not None
    assert any("keep it with the table" in one for one in r.facts.limits())


def test_what_a_notebook_shows_of_a_release_tells_no_more_than_rounded_counts():
    def shown(noes: int) -> str:
        rows = np.random.default_rng(0).permutation(["no"] * noes + ["yes"] * (10_000 - noes)).tolist()
        r = lw.protect(rows, domain=["no", "yes"], prior="table", failure=1e-6, lift=2)
        return r._repr_html_()

    assert "<svg" in shown(7_000)
    assert shown(7_000) == shown(7_003)


def test_the_mechanism_tells_no_more_than_rounded_counts():
    def made(noes: int) -> lw.Mechanism:
        rows = np.random.default_rng(0).permutation(["no"] * noes + ["yes"] * (10_000 - noes)).tolist()
        domain = ["no", "yes"]
        return lw.protect(rows, domain=domain, prior="table", failure=1e-6, lift=2, use="reading").mechanism

    # All the same in hundredths: one mechanism, or two where the proven level passes from one step to the next.
    assert len({made(noes) for noes in range(5_955, 6_045, 10)}) <= 2


def test_a_table_of_few_rows_falls_back_to_what_needs_no_prior():
    with pytest.warns(lw.LeakwiseWarning, match="4 rows are too few"):
        r = lw.protect(["no", "yes", "no", "no"], domain=["no", "yes"], prior="table", failure=1e-6, lift=2)
    assert isinstance(r.certificate.prior, lw.AllPriors)
    assert lw.certify(r.mechanism, lw.AllPriors(r.prior), lift=2).holds
    with pytest.raises(lw.InvalidInput, match="there is nothing to release"):
        lw.protect([], domain=["no", "yes"], prior="table", failure=1e-6, lift=2)


def test_a_set_of_priors():
    ball = PRIOR.ball(0.05)
    r = lw.protect(FRAME, "smokes", unrelated=BESIDE, domain=["yes", "no"], prior=ball, lift=2)
    assert r.certificate.holds
    assert r.mechanism.inputs == ("yes", "no")
    assert r.certificate.prior.beta == ball.beta
    assert r.prior.labels == ("yes", "no")
    assert r.certificate.prior.nominal == r.prior
    with pytest.raises(lw.InvalidInput, match="the set has its own"):
        lw.protect(FRAME, "smokes", unrelated=BESIDE, prior=ball, lift=2, failure=0.1)


def test_a_given_mechanism_is_certified_for_what_the_rows_leave_possible(tmp_path):
    m = lw.randomized_response(["no", "yes"], lift=3)
    r = lw.protect(
        FRAME,
        "smokes",
        unrelated=BESIDE,
        prior="table",
        failure=1e-6,
        mechanism=m,
        ledger=tmp_path / "l.db",
        dataset="d",
    )
    sample = lw.Prior.from_counts({"no": 300, "yes": 100})
    # The checker finds the same bounds in code of its own, a little closer.
    assert r.epsilon <= lw.epsilon(m, sample.confidence(1e-6, "layer-cake")) <= r.epsilon + 1e-3
    again = lw.protect(
        FRAME,
        "smokes",
        unrelated=BESIDE,
        prior="table",
        failure=1e-6,
        mechanism=m,
        ledger=tmp_path / "l.db",
        dataset="d",
    )
    total = lw.Ledger(tmp_path / "l.db").total("d", "smokes")
    # The ledger keeps the set, so that both are composed exactly for it.
    assert total.exact
    assert r.epsilon < total.epsilon <= 2 * lw.ldp(m)
    assert again.entry == 2
    assert total.failure == pytest.approx(2e-6)


@pytest.mark.parametrize("rows", [1, 3, 10, 1000, 10**6])
@pytest.mark.parametrize("letters", [1, 2, 50])
def test_a_coarse_prior_hides_counts_and_keeps_letters(rows, letters):
    counts = np.random.default_rng(rows).multinomial(rows, np.full(letters, 1 / letters)).tolist()
    prior = coarse_prior(counts, lw.Prior.uniform([f"v{k}" for k in range(letters)]).alphabet)
    assert (prior.weights > 0).all()
    if rows >= 1000 and letters > 1:
        assert prior.denominator < rows / 2
        if letters == 2:
            assert abs(prior.probabilities - np.array(counts) / rows).max() < 0.05


def test_joint_secrets_of_bins_and_words():
    domain = {"age": lw.bins(0, 100, 2), "smokes": ["no", "yes"]}
    r = lw.protect(FRAME, ("age", "smokes"), drop="id", domain=domain, prior="table", failure=1e-3, lift=1.5)
    assert set(r.table["smokes"]) == {"see age"}
    assert set(r.table["age"]) <= {one[0] for one in r.mechanism.outputs}
    assert lw.estimate(r.table, r.mechanism, ("age", "smokes")).labels[0] == ("[0, 50)", "no")
    read = lw.protect(
        FRAME, ["age", "smokes"], drop="id", domain=domain, prior="table", failure=1e-3, lift=2, use="reading"
    )
    assert set(read.table["smokes"]) <= {"no", "yes"}
    pairs = [(age, smokes) for age in lw.bins(0, 100, 2).labels for smokes in ("no", "yes")]
    same = lw.protect(FRAME, ("age", "smokes"), drop="id", domain=domain, prior=lw.Prior.uniform(pairs), lift=1.5)
    assert same.certificate.holds
    with pytest.raises(lw.InvalidInput, match="domain must name the values of each column"):
        lw.protect(FRAME, ("age", "smokes"), drop="id", domain={"age": [1]}, prior="table", failure=0.1, lift=2)


def test_a_prior_in_another_order_is_put_in_order():
    r = lw.protect(FRAME, "smokes", unrelated=BESIDE, domain=["yes", "no"], prior={"no": 0.75, "yes": 0.25}, lift=2)
    assert r.prior.labels == ("yes", "no")
    assert r.prior.probabilities.tolist() == [0.25, 0.75]
    with pytest.raises(lw.InvalidInput, match="same values"):
        lw.protect(FRAME, "smokes", unrelated=BESIDE, domain=["no", "yes", "x"], prior=PRIOR, lift=2)


def test_files_with_a_ledger(tmp_path):
    FRAME.to_parquet(tmp_path / "a.parquet")
    told = []
    options = {"prior": PRIOR, "lift": 2, "ledger": tmp_path / "l.db", "progress": lambda *now: told.append(now[0])}
    r = lw.protect(tmp_path / "a.parquet", "smokes", unrelated=BESIDE, out=tmp_path / "b.parquet", **options)
    assert r.table == tmp_path / "b.parquet"
    assert set(told) == {"checking", "writing"}
    assert lw.estimate(r.table).sample_size == 400
    book = lw.Ledger(tmp_path / "l.db")
    (entry,) = book.entries()
    assert (entry.id, entry.dataset, entry.secret, entry.state) == (r.entry, "a.parquet", ("smokes",), "released")
    assert entry.rows == 400
    assert None not in (entry.source_digest, entry.released_digest)
    assert r.facts.ledger == {"entry": 1}
    # The same column from memory has the same digest, and must go by the same name.
    with pytest.raises(lw.InvalidInput, match=r"released before as 'smokes' of 'a\.parquet'"):
        lw.protect(FRAME, "smokes", unrelated=BESIDE, prior=PRIOR, lift=2, ledger=book, dataset="other")
    again = lw.protect(FRAME, "smokes", unrelated=BESIDE, prior=PRIOR, lift=2, ledger=book, dataset="a.parquet")
    assert again.facts.ledger == {"entry": 2}
    assert book.total("a.parquet", "smokes").releases == 2


def test_a_budget_refuses_before_anything_is_made(tmp_path):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    book = lw.Ledger(tmp_path / "l.db")
    book.set_budget("a.csv", "smokes", lift=1.5)
    with pytest.raises(lw.Infeasible, match="budget is lift = 3/2"):
        lw.protect(
            tmp_path / "a.csv", "smokes", unrelated=BESIDE, prior=PRIOR, lift=2, ledger=book, out=tmp_path / "b.csv"
        )
    assert not (tmp_path / "b.csv").exists()
    assert book.entries() == []


def test_what_is_done_with_the_certificate_comes_first(tmp_path):
    def stop(certificate: lw.results.Certificate) -> None:
        assert certificate.holds
        raise RuntimeError("not today")

    with pytest.raises(RuntimeError, match="not today"):
        lw.protect(
            FRAME,
            "smokes",
            unrelated=BESIDE,
            prior=PRIOR,
            lift=2,
            ledger=tmp_path / "l.db",
            dataset="d",
            certified=stop,
        )
    assert lw.Ledger(tmp_path / "l.db").entries() == []


def test_a_release_that_fails_is_cancelled(tmp_path, monkeypatch):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    book = lw.Ledger(tmp_path / "l.db")

    def fail(*_args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("leakwise.documents.atomic.os.replace", fail)
    with pytest.raises(lw.InvalidInput, match="No space left"):
        lw.protect(
            tmp_path / "a.csv", "smokes", unrelated=BESIDE, prior=PRIOR, lift=2, ledger=book, out=tmp_path / "b.csv"
        )
    assert [one.state for one in book.entries()] == ["cancelled"]
    assert not (tmp_path / "b.csv").exists()


def test_an_interrupt_leaves_the_entry_standing(tmp_path):
    FRAME.to_csv(tmp_path / "a.csv", index=False)

    def interrupt(stage: str, done: int, total: int | None) -> None:
        if stage == "writing":
            raise KeyboardInterrupt

    options = {"prior": PRIOR, "lift": 2, "ledger": tmp_path / "l.db", "out": tmp_path / "b.csv", "progress": interrupt}
    with pytest.raises(KeyboardInterrupt):
        lw.protect(tmp_path / "a.csv", "smokes", unrelated=BESIDE, **options)
    assert [one.state for one in lw.Ledger(tmp_path / "l.db").entries()] == ["reserved"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lift": 2}, "prior must be chosen"),
        ({"lift": 2, "prior": "uniform"}, "domain .--domain. must be declared"),
        ({"lift": 2, "prior": "table", "domain": ["no", "yes"]}, "must be given where the prior is estimated"),
        ({"lift": 2, "prior": "table", "failure": 0.1}, "must be declared: every value"),
        ({"lift": 2, "prior": PRIOR, "failure": 2}, "failure must be a probability"),
        ({"prior": PRIOR}, "Give either epsilon"),
        ({"prior": PRIOR, "lift": 2, "epsilon": 1}, "Got both"),
        ({"prior": PRIOR, "lift": 2, "use": "readin"}, "Did you mean 'reading'"),
        ({"prior": PRIOR, "lift": 2, "column": "smoke"}, "Did you mean 'smokes'"),
        ({"prior": PRIOR, "lift": 2, "column": None}, "column must say"),
        ({"prior": PRIOR, "lift": 2, "domain": ["no"]}, "same values"),
        ({"prior": lw.Prior.uniform(["no", "x"]), "lift": 2}, "outside the declared domain"),
        ({"prior": PRIOR, "lift": 2, "overwrite": True}, "out must be left out"),
        ({"prior": PRIOR, "lift": 2, "ledger": "l.db"}, "dataset must name"),
    ],
)
def test_bad_input(options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(lw.InvalidInput, match=message):
        lw.protect(FRAME, **{"column": "smokes", "unrelated": BESIDE, **options})


def test_an_empty_table():
    with pytest.raises(lw.InvalidInput, match="no rows"):
        lw.protect(FRAME.iloc[:0], "smokes", unrelated=BESIDE, prior=PRIOR, lift=2)


def test_a_file_needs_a_column_and_a_place(tmp_path):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(lw.InvalidInput, match="out must be given"):
        lw.protect(tmp_path / "a.csv", "smokes", unrelated=BESIDE, prior=PRIOR, lift=2)
    with pytest.raises(lw.InvalidInput, match="column must say"):
        lw.protect(tmp_path / "a.csv", prior=PRIOR, lift=2, out=tmp_path / "b.csv")


def test_the_promise_holds_for_what_is_drawn():
    """Estimates from the released table find the frequencies of the table again."""
    rng = np.random.default_rng(3)
    rows = np.array(["no", "yes"])[(rng.random(200_000) < 0.25).astype(int)]
    r = lw.protect({"s": rows}, "s", prior=PRIOR, lift=2)
    found = lw.estimate(r.table, r.mechanism, "s", confidence=1 - 1e-9)
    low, high = found.intervals[1]
    assert low <= (rows == "yes").mean() <= high


RARE = lw.Prior({"no": 0.8, "yes": 0.2, "rare": 0})


@pytest.mark.parametrize("prior", [RARE, lw.Hull([RARE]), RARE.ball(0)], ids=["prior", "hull", "ball of radius 0"])
@pytest.mark.parametrize("mechanism", [None, lw.identity(["no", "yes", "rare"])], ids=["designed", "given"])
def test_a_value_of_mass_zero_that_occurs_stops_the_release(prior, mechanism, tmp_path):
    ledger = lw.Ledger(tmp_path / "ledger.db")
    options = {"prior": prior, "ledger": ledger, "dataset": "d", "mechanism": mechanism, "allow_certainty": True}
    if mechanism is None:
        options |= {"lift": 4, "use": "reading"}
    with pytest.raises(lw.InvalidInput, match=r"column 's' has 2 of 22 rows .* no probability: 'rare'"):
        lw.protect({"s": ["no", "yes"] * 10 + ["rare"] * 2}, "s", **options)
    assert not ledger.entries()
    lw.protect({"s": ["no", "yes"] * 10}, "s", **options)  # without the value it is released


def test_a_set_that_gives_the_value_mass_covers_it():
    r = lw.protect({"s": ["no", "yes"] * 10 + ["rare"]}, "s", prior=RARE.ball(0.01), lift=4, use="reading")
    assert r.certificate.verify().holds
    with pytest.raises(lw.InvalidInput, match="no probability: \\('a', 2\\)"):
        lw.protect(
            {"s": ["a", "b"], "t": [2, 1]},
            ("s", "t"),
            prior={("a", 1): 0.5, ("b", 1): 0.5, ("a", 2): 0, ("b", 2): 0},
            lift=1.5,
        )


def test_the_certificate_keeps_the_optimality_that_the_report_quotes(tmp_path):
    for use in ("statistics", "reading"):
        r = lw.protect(FRAME, "smokes", unrelated=BESIDE, prior=lw.Prior({"no": 0.6, "yes": 0.4}), lift=1.5, use=use)
        assert r.certificate.optimality is not None
        assert r.certificate.optimality.bound == pytest.approx(r.design.bound)
        r.certificate.save(tmp_path / f"{use}.json")
        assert lw.verify(tmp_path / f"{use}.json").optimality is not None
    joint = lw.Prior({("a", 1): 0.4, ("a", 2): 0.3, ("b", 1): 0.2, ("b", 2): 0.1})
    r = lw.protect({"s": ["a", "b"], "t": [1, 2]}, ("s", "t"), prior=joint, lift=1.5)
    assert r.certificate.verify().optimality is not None


def test_an_unsafe_seed_leaves_its_trace_everywhere(tmp_path):
    source, out = tmp_path / "t.parquet", tmp_path / "out.parquet"
    FRAME.to_parquet(source)
    ledger = lw.Ledger(tmp_path / "l.db")
    with pytest.warns(lw.UnsafeSeedWarning, match="anyone who knows or guesses the seed"):
        r = lw.protect(
            source, "smokes", unrelated=BESIDE, prior=PRIOR, lift=2, out=out, ledger=ledger, unsafe_seed=77123456789
        )
    assert r.guarantee.startswith("FOR TESTS ONLY: ")
    assert "FOR TESTS ONLY: " in repr(r)
    assert "unsafe_seed" in ledger.entries()[0].origin
    metadata = pq.read_schema(out).metadata
    assert drawn_from_seed(metadata)
    assert lw.estimate(out).sample_size == 400  # and it is read as before
    assert r.to_dict()["unsafe_seed"] is True
    assert r.to_dict()["limits"][0].startswith("FOR TESTS ONLY: ")
    page = r.report(tmp_path / "r.html").read_text()
    assert page.count("FOR TESTS ONLY: ") == 2  # at the top, and among what is not promised
    texts = [page, str(r.to_dict()), str(ledger.entries()), str(metadata)]
    assert not any("77123456789" in text for text in texts)  # the seed itself is nowhere
    # A released file that is released further keeps the trace; without a seed there is none.
    with pytest.warns(lw.CertaintyWarning, match="Rows of 'id' can be read"):
        again = lw.release(out, lw.identity(list(range(400))), "id", out=tmp_path / "again.parquet", order="keep")
    assert drawn_from_seed(pq.read_schema(again).metadata)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        r = lw.protect(
            source, "smokes", unrelated=BESIDE, prior=PRIOR, lift=2, out=tmp_path / "secure.parquet", ledger=ledger
        )
    assert not drawn_from_seed(pq.read_schema(tmp_path / "secure.parquet").metadata)
    assert "unsafe" not in ledger.entries()[1].origin + r.guarantee


def test_a_table_released_again_from_a_seed_says_so():
    m = lw.randomized_response(["no", "yes"], lift=2)
    table = pa.table({"a": ["no", "yes"] * 4, "b": ["no", "yes"] * 4})
    once = lw.release(pa.RecordBatchReader.from_batches(table.schema, table.to_batches()), m, "a").read_all()
    assert not drawn_from_seed(once.schema.metadata)
    with pytest.warns(lw.UnsafeSeedWarning):
        again = lw.release(once, m, "b", unsafe_seed=1)
    assert drawn_from_seed(again.schema.metadata)


def test_every_way_to_draw_from_a_seed_warns():
    m = lw.randomized_response(["no", "yes"], lift=3)
    for draw in (
        lambda: lw.release(["no"], m, unsafe_seed=1),
        lambda: lw.release({"s": ["no"]}, m, "s", unsafe_seed=0),
        lambda: m.sample("no", unsafe_seed=1),
    ):
        with pytest.warns(lw.UnsafeSeedWarning):
            draw()
