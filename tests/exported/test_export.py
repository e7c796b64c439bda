"""What an exported sampler says, whichever language it is in: its guarantee, its checksum, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leakwise as lw
from leakwise.mechanism.files import save_mechanism
from leakwise.sampling import ByteTexts
from leakwise.tables.memo.draws import MemoSampler

PRIOR = lw.Prior({"no": "0.8", "yes": "0.2"})
RESPONSE = lw.randomized_response(["no", "yes"], lift=3)


def said(sampler: lw.results.Exported) -> str:
    """The first lines, as one text."""
    lines = [line for line in sampler.source.splitlines() if re.match("// |-- ", line)]
    return " ".join(line[3:] for line in lines)


@pytest.mark.parametrize("to", ["js", "script", "sql"])
def test_the_first_lines_have_guarantee_adversary_checksum_and_what_is_not_covered(to: str, tmp_path: Path) -> None:
    RESPONSE.save(tmp_path / "m.json")
    sampler = lw.export(tmp_path / "m.json", to)
    assert "more than 3 times as likely by seeing the outcome, for anyone, whatever they knew" in sampler.guarantee
    words = said(sampler)
    assert f"Guaranteed: {sampler.guarantee}" in words
    assert "a second draw of the same" in words
    assert {"js": "this page sees the answer", "sql": "the server sees the value"}[to.replace("script", "js")] in words
    stored = json.loads((tmp_path / "m.json").read_text())["sha256"]
    assert sampler.checksum == stored
    assert stored in words
    assert "probabilities exactly those of the file" in words
    assert sampler.save(tmp_path / "out").read_text() == sampler.source == lw.export(RESPONSE, to).source


def test_the_checksum_is_that_of_the_file_also_of_a_release_and_by_strata(tmp_path: Path) -> None:
    path = tmp_path / "by.json"
    lw.StratifiedMechanism({"f": RESPONSE}, given={"sex": ["f", "m"]}, secret="smokes", otherwise=RESPONSE).save(path)
    assert lw.export(path).checksum == json.loads(path.read_text())["sha256"]
    save_mechanism(RESPONSE, path, outcomes_digest="0" * 64)
    assert lw.export(path).checksum == json.loads(path.read_text())["sha256"]


def test_a_certificate_gives_its_guarantee_and_another_mechanism_is_rejected(tmp_path: Path) -> None:
    found = lw.design(PRIOR, lift=1.5, anyone=10)
    found.certificate.save(tmp_path / "c.json")
    sampler = lw.export(found.mechanism, certificate=tmp_path / "c.json")
    assert sampler.guarantee == found.certificate.sentence
    assert "for anyone who knew the prior, nor more than" in said(sampler)
    with pytest.raises(lw.CertificateRejected, match="about another mechanism"):
        lw.export(RESPONSE, certificate=tmp_path / "c.json")
    body = (tmp_path / "c.json").read_text().replace('"ratio_numerator":"0x', '"ratio_numerator":"0x1')
    (tmp_path / "forged.json").write_text(body)
    with pytest.raises(lw.InvalidInput, match="does not match its checksum"):
        lw.export(found.mechanism, certificate=tmp_path / "forged.json")


def test_a_certificate_by_strata_names_the_given_columns(tmp_path: Path) -> None:
    by_sex = lw.PriorByStratum({"f": PRIOR, "m": {"no": "0.5", "yes": "0.5"}}, {"sex</script>": ["f", "m"]})
    found = lw.design(by_sex, lift=1.5, anyone=10)
    sampler = lw.export(found.mechanism, certificate=found.certificate)
    assert sampler.guarantee == found.certificate.sentence
    assert "as 'sex\\x3c/script\\x3e' makes it already, for anyone who sees the row" in said(sampler)
    with pytest.raises(lw.InvalidInput, match="certificate must be that of a Mechanism"):
        lw.export(RESPONSE, certificate=found.certificate)
    alone = lw.export(found.mechanism)
    assert "as 'sex</script>' makes it already, for anyone, whatever they knew" in alone.guarantee


def test_other_denominators_are_rounded_and_proven_again() -> None:
    thirds = lw.Mechanism([["2/3", "1/3"], ["1/3", "2/3"]], inputs=["no", "yes"], outputs=["no", "yes"])
    sampler = lw.export(thirds)
    assert sampler.mechanism == thirds.dyadic(60) != thirds
    assert "rounded to 2^-60 and proven again" in said(sampler)
    # Beyond 2 by less than 2^-59: the sentence is about the rounded one.
    assert "more than 2.0001 times as likely" in sampler.guarantee
    certificate = lw.certify(thirds, PRIOR)
    again = lw.export(thirds, certificate=certificate)
    assert again.guarantee == lw.certify(thirds.dyadic(60), PRIOR).sentence
    tight = lw.certify(thirds, PRIOR, lift=lw.certify(thirds, PRIOR).ratio, anyone=2)
    assert tight.holds
    with pytest.raises(lw.CertificateRejected, match="Rounded to what can be drawn exactly"):
        lw.export(thirds, certificate=tight)


def test_a_mechanism_that_rules_values_out_guarantees_nothing_and_says_so() -> None:
    with pytest.warns(lw.LeakwiseWarning, match="Nothing is guaranteed"):
        sampler = lw.export(lw.identity(["no", "yes"]))
    assert "Guaranteed: Nothing is guaranteed for someone of whom nothing is assumed" in said(sampler)


def test_given_columns_in_bins_must_not_be_sent_finer() -> None:
    ages = lw.bins([0, 18, 99])
    sampler = lw.export(lw.StratifiedMechanism({ages.labels[0]: RESPONSE}, given={"age": ages}))
    assert "must be sent or stored as the names of their bins, not finer. coarse(given) returns them." in said(sampler)


def test_a_release_with_a_key_draws_the_same_from_its_words(tmp_path: Path) -> None:
    """The map from words to outcomes is that of a release, not one of its own."""
    key = lw.MemoKey.create(tmp_path / "key.bin")
    mechanism = lw.Mechanism(np.random.default_rng(1).dirichlet(np.ones(5), 4))
    sampler = MemoSampler(key, ["s"], [(mechanism, np.arange(5))], 5)
    codes, people = np.arange(4000) % 4, ByteTexts.of([b"%d" % number for number in range(4000)])
    words = sampler._words.words(people, sampler._contexts, np.zeros(4000, dtype=np.intp), codes)
    assert sampler.draw(codes, people).tolist() == lw.export(mechanism).draw_from_words(codes, words)
    assert lw.export(mechanism).draw_from_words(codes, words.tobytes()) == sampler.draw(codes, people).tolist()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"to": "php"}, "to must be one of js, script, sql. Got 'php'"),
        ({"to": "js", "name": "draw"}, "a module is named where it is imported"),
        ({"to": "sql", "name": 'x"; DROP'}, "name must be at most 41 letters"),
        ({"to": "script", "name": ""}, "name must be at most 41 letters"),
        ({"to": "js", "dialect": "postgresql"}, "dialect .* goes with to='sql'"),
    ],
)
def test_what_is_wrong_is_said(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(lw.InvalidInput, match=reason):
        lw.export(RESPONSE, **options)


def test_too_large_a_table_is_refused_and_words_are_checked() -> None:
    with pytest.raises(lw.InvalidInput, match="1,000,000 probabilities"):
        lw.export(lw.randomized_response(1000, lift=3), "sql")
    assert len(lw.export(lw.randomized_response(1000, lift=3), "js").source) < 40_000
    sampler = lw.export(RESPONSE)
    for words in ([2**64], [-1], ["x"]):
        with pytest.raises(lw.InvalidInput, match="words must be integers from 0 to"):
            sampler.draw_from_words(["no"], words)
    with pytest.raises(lw.InvalidInput, match="words must be one for each of the 2 values"):
        sampler.draw_from_words(["no", "yes"], [1])
    by = lw.StratifiedMechanism({"f": RESPONSE}, given={"sex": ["f", "m"]})
    with pytest.raises(lw.InvalidInput, match="given must map each of 'sex'"):
        lw.export(by).draw_from_words(["no"], [1])
