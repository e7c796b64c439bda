"""The report: self-contained, honest, escaped, and without an exact count of the private table."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import leakwise as lw
from leakwise.report import page, write_report
from leakwise.report.comparison import worth

PRIOR = lw.Prior({"no": 0.75, "yes": 0.25})
ROWS = np.random.default_rng(0).permutation(["no"] * 7919 + ["yes"] * 2081).tolist()


class Page(HTMLParser):
    """Every tag and address of a page, and whether it is well formed."""

    VOID = frozenset({"meta", "br", "rect"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.addresses: list[str] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href", "action", "data")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def protection():
    return lw.protect({"smokes": ROWS}, "smokes", prior=PRIOR, lift=2, dataset="survey")


def test_the_page_needs_nothing_else(protection, tmp_path):
    text = protection.report(tmp_path / "r.html").read_text()
    found = Page(text)
    assert not found.tags & {"script", "link", "img", "iframe", "object"}
    assert found.addresses == []
    assert "http:" not in text.replace("http-equiv", "")
    assert "https:" not in text
    assert "default-src 'none'" in text
    assert "@media print" in text


def test_what_it_says(protection):
    words = " ".join(Page(page(replace(protection.facts, certificate_file="proof.json"))).text.split())
    for sentence in (
        "Seeing the released value of a row makes no guess about its true smokes more than 2 times as likely",
        "at most 0.69314",
        "The prior was given as public knowledge",
        "randomized response",
        "What is not guaranteed",
        "All other columns and the number of rows are released unchanged",
        "The rows keep the order of the source. A test of it found nothing, which does not prove",
        "adds to what is known",
        "lw.estimate(",
        "Anyone who has proof.json can check it again with: leakwise verify proof.json",
        "survey",
        "10,000",
    ):
        assert sentence in words


@pytest.mark.parametrize("use", ["statistics", "reading"])
def test_no_exact_count_is_printed(use, tmp_path):
    r = lw.protect({"smokes": ROWS}, "smokes", domain=["no", "yes"], prior="table", failure=1e-6, lift=3, use=use)
    for name in ("r.html", "r.json"):
        text = r.report(tmp_path / name).read_text()
        for secret in ("7919", "7,919", "2081", "2,081", "0.7919", "0.2081", "79.19", "20.81"):
            assert secret not in text
        # What is proven follows from the exact counts: the report guarantees what was asked for.
        assert r.certificate.largest_lift < 3 - 1e-6
        assert f"{r.certificate.largest_lift:.4f}"[:6] not in text
        assert f"{r.certificate.epsilon_upper:.6f}" not in text
    assert r.facts.promised == 3
    assert r.facts.promised >= r.certificate.ratio
    words = " ".join(Page((tmp_path / "r.html").read_text()).text.split())
    assert "estimated from this very table" in words
    assert "which are treated as public" in words
    assert "keep it with the table" in words
    assert "The sample misleads, and the guarantee with it, with probability at most 1e-6" in words


def test_labels_are_escaped(tmp_path):
    labels = ["<script>alert(1)</script>", "\"&'"]
    r = lw.protect({"<b>": labels * 5}, "<b>", prior=lw.Prior.uniform(labels), lift=1.5, dataset="</title><img src=x>")
    text = r.report(tmp_path / "r.html").read_text()
    found = Page(text)
    assert not found.tags & {"script", "img", "b"}
    assert "<script>alert(1)</script>" in found.text


def test_json_says_the_same(protection, tmp_path):
    found = json.loads(protection.report(tmp_path / "r.json").read_text())
    assert found["format"] == "leakwise.report"
    assert found["promise"]["holds"] is True
    assert found["columns"] == ["smokes"]
    assert found["limits"] == protection.facts.limits()
    assert found == json.loads(json.dumps(protection.to_dict()))


def test_other_names_are_refused(protection, tmp_path):
    with pytest.raises(lw.InvalidInput, match=r"\.html or \.json"):
        write_report(protection.facts, tmp_path / "r.pdf")
    with pytest.raises(lw.InvalidInput, match="Cannot write"):
        write_report(protection.facts, tmp_path / "none" / "r.html")


def test_many_letters_are_not_drawn(tmp_path):
    labels = [f"value {k}" for k in range(70)]
    m = lw.randomized_response(labels, lift=2)
    r = lw.protect({"s": labels}, "s", prior=lw.Prior.uniform(labels), mechanism=m, order="shuffle")
    words = Page(r.report(tmp_path / "r.html").read_text()).text
    assert "70 values and 70 outcomes" in words
    assert "60 most likely of 70" in words
    many = list(range(500))
    response = lw.randomized_response(many, lift=2)
    r = lw.protect({"s": many}, "s", prior=lw.Prior.uniform(many), mechanism=response, order="shuffle")
    assert r.facts.comparison is None
    assert r.facts.letters == []
    Page(page(r.facts))


def test_limits_speak_of_zero_mass_failure_and_ldp():
    prior = lw.Prior({"no": 0.75, "yes": 0.25, "perhaps": 0})
    m = lw.randomized_response(["no", "yes", "perhaps"], lift=3)
    r = lw.protect({"s": ["no", "yes"]}, "s", prior=prior, mechanism=m, failure=0.01)
    limits = " ".join(r.facts.limits())
    assert "no probability to perhaps" in limits
    assert "(0.01)" in limits
    assert "the lift is at most 3 (no limit for anyone was asked for" in limits


def test_before_and_after_are_those_of_bayes():
    r = lw.protect({"s": ["no", "yes"]}, "s", prior=PRIOR, mechanism=lw.randomized_response(["no", "yes"], lift=3))
    for place, one in enumerate(r.facts.to_dict()["letters"]):
        p = PRIOR.probabilities
        posterior = p[place] * r.mechanism.matrix[place] / (p @ r.mechanism.matrix)
        assert one["most"] == pytest.approx(posterior.max())
        assert one["least"] == pytest.approx(posterior.min())
        assert one["most"] >= posterior.max()


def test_expected_errors_are_those_of_estimates():
    """The standard error told beforehand is what estimates from such counts say afterwards."""
    m = lw.randomized_response(["a", "b", "c"], lift=4)
    prior = lw.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
    rows = 10**9
    counts = dict(zip(m.outputs, np.round(prior.probabilities @ m.matrix * rows).astype(int).tolist(), strict=True))
    found = lw.estimate(counts, m)
    told = worth(m, prior, rows)
    assert told.standard_error == pytest.approx(found.standard_error.tolist(), rel=1e-6)
    assert told.rows_worth == pytest.approx(
        float((found.plain_standard_error**2).sum() / (found.standard_error**2).sum()), rel=1e-6
    )
    assert told.agreement == pytest.approx(4 / 6)
    assert worth(lw.constant(["a", "b", "c"]), prior, rows).standard_error is None


def test_this_release_is_never_worth_less_than_randomized_response():
    for lift in (1.2, 1.5, 2, 3):
        prior = lw.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
        r = lw.protect({"s": ["a", "b", "c"]}, "s", prior=prior, lift=lift)
        compared = r.facts.comparison
        assert compared.ours.rows_worth >= compared.randomized_response.rows_worth * (1 - 1e-6)
        words = re.sub(r"\s+", " ", Page(page(r.facts)).text)
        assert "outcomes are not values" in words


def test_a_release_learned_from_its_rows_is_never_worth_less_than_randomized_response():
    # The mechanisms leave room for what the rows do not know, and so must what they are compared with.
    table = {"town": ["a"] * 1500 + list("bcdef") * 300, "s": (["yes"] + ["no"] * 2) * 1000}
    given = {"given": ["town"], "order": "shuffle"}
    with pytest.warns(lw.errors.LeakwiseWarning, match="too rare to learn from"):
        r = lw.protect(table, "s", domain=["no", "yes"], lift=2, prior="table", failure=1e-6, **given)
    compared = r.facts.comparison
    assert compared.ours.rows_worth >= compared.randomized_response.rows_worth * (1 - 1e-6)


def test_outcomes_with_short_codes_are_not_said_to_be_named_by_values_and_have_a_legend(protection, tmp_path):
    few = Page(protection.report(tmp_path / "few.html").read_text()).text
    assert "named by the values they make more likely" in few
    values = [f"value {number}" for number in range(20)]
    prior = lw.Prior(dict(zip(values, range(20, 40), strict=True)))
    rows = np.random.default_rng(1).choice(values, size=4000, p=prior.probabilities)
    released = lw.protect({"kind": rows}, "kind", prior=prior, lift=2, time_limit=5)
    many = Page(released.report(tmp_path / "many.html").read_text())
    assert "named by the values" not in many.text
    assert "Outcomes have short codes" in many.text
    assert "details" in many.tags
    legend = released.design.legend()
    assert all(f"{name}{text}" in many.text.replace("\n", "") for name, text in legend.items())


PATIENTS = lw.Prior({"well": "0.9", "flu": "0.081", "hiv": "0.019"})


def patients(rows, **options):
    drawn = np.random.default_rng(2).choice(PATIENTS.labels, size=rows, p=PATIENTS.probabilities)
    return lw.protect({"diagnosis": drawn.tolist()}, "diagnosis", prior=PATIENTS, lift=2, **options)


def so_what(facts):
    """What the page says of each value, by its name."""
    text = page(facts)
    if "from this release</th>" not in text:
        return {}
    table = text[text.index("from this release</th>") :].split("</table>")[0]
    return {name: words for name, _, words in re.findall(r"row\">(.*?)</th><td>(.*?)</td><td>(.*?)</td>", table)}


def test_each_value_is_said_to_be_told_or_from_how_many_rows_it_would_be():
    facts = patients(3000).facts
    told, errors = so_what(facts), facts.comparison.ours.standard_error
    assert told["well"] == f"can be told, to about {np.ceil(2000 * errors[0]) / 10:g} percentage points up or down"
    found = re.fullmatch(r"cannot be told from 3,000 rows; about ([\d,]+) needed", told["hiv"])
    needed = int(found[1].replace(",", ""))
    # Twice the standard error is the frequency there, and two digits are enough to know.
    exact = 3000 * (2 * errors[2] / 0.019) ** 2
    assert exact <= needed < 1.1 * exact
    assert facts.to_dict()["comparison"]["rows_needed"][2] == needed
    # So many rows do tell it, and fewer do not; estimates from so many say the same.
    assert so_what(replace(facts, rows=needed))["hiv"].startswith("can be told")
    assert so_what(replace(facts, rows=int(exact) - 1))["hiv"].startswith("cannot be told")
    counts = np.round(PATIENTS.probabilities @ facts.mechanism.matrix * needed).astype(int).tolist()
    estimated = lw.estimate(dict(zip(facts.mechanism.outputs, counts, strict=True)), facts.mechanism)
    assert 0.9 * 0.019 < 2 * estimated.standard_error[2] < 1.01 * 0.019


def test_all_rows_are_said_to_be_worth_so_many_without_protection_rounded_down():
    facts = patients(3000).facts
    ours, other = (int(3000 * one.rows_worth) for one in (facts.comparison.ours, facts.comparison.randomized_response))
    words = " ".join(Page(page(facts)).text.split())
    assert f"these 3,000 released rows are worth {ours} without protection; those of randomized response" in words
    assert f"of the same leakage, {other}." in words
    few = " ".join(Page(page(replace(facts, rows=3))).text.split())
    assert "these 3 released rows are worth less than one without protection" in few


def test_a_value_that_no_table_tells_is_said_to_be_one():
    prior = lw.Prior({"no": "0.75", "yes": "0.25", "never": 0, "hardly": "1e-200"})
    m = lw.randomized_response(prior.labels, lift=3)
    facts = lw.protect({"s": ["no", "yes"] * 50}, "s", prior=prior, mechanism=m, order="keep").facts
    for name in ("never", "hardly"):
        assert so_what(facts)[name] == "cannot be told from 100 rows; no number of rows is enough"
    assert facts.to_dict()["comparison"]["rows_needed"][2:] == [None, None]


def test_nothing_is_said_of_frequencies_where_no_prior_is_known_or_outcomes_do_not_determine_them():
    rows = ["no", "yes"] * 50
    every = lw.protect({"s": rows}, "s", prior=lw.AllPriors(["no", "yes"]), lift=3, order="keep")
    assert so_what(every.facts) == {}
    with pytest.warns(lw.errors.LeakwiseWarning, match="reveals nothing"):
        silent = lw.protect({"s": rows}, "s", prior=PRIOR, mechanism=lw.constant(["no", "yes"]), order="keep")
    assert so_what(silent.facts) == {}
    assert silent.facts.to_dict()["comparison"]["rows_needed"] is None


def test_what_is_shown_of_a_release_that_holds_for_every_prior_names_no_prior():
    table = {"s": ["a", "b", "b"] * 100, "g": ["x", "y"] * 150}
    unknown = lw.protect(table, "s", domain=["a", "b"], prior=lw.AllPriors(["a", "b"]), lift=2, order="shuffle")
    with pytest.warns(lw.LeakwiseWarning, match="too rare to learn from"):
        rare = lw.protect(table, "s", domain=["a", "b"], prior="table", failure=1e-6, lift=2, order="shuffle")
    for made in (unknown, rare):
        assert re.search(r"prior +none: it holds for every prior", repr(made))
    known = lw.protect(table, "s", prior={"a": 0.4, "b": 0.6}, lift=2, order="shuffle", drop="g")
    assert re.search(r"prior +given", repr(known))
