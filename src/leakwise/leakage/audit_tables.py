"""The tables of an audit: every measure, the outcomes, the values; each line with the priors that it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakwise.charts.shown import Table
from leakwise.charts.table import number
from leakwise.errors import counted, label_text
from leakwise.guarantee import at_least, at_most

if TYPE_CHECKING:
    from leakwise.leakage.audit import Audit

__all__ = ["tables"]


def _rows(audit: Audit) -> list[list[object]]:
    """Each measure with its value, what it is, and the priors that it is about."""
    level_words, delta = audit.level.words, f"{audit.delta:g}"
    every, nominal, none = "every prior of the set", "the nominal prior", "every prior"
    rows: list[list[object]] = [
        ["ε of PML (worst outcome)", at_most(audit.epsilon), f"at most {at_most(audit.ratio)} times as likely", every],
        ["maximal leakage", at_most(audit.maximal_leakage), "average of e^ℓ, any adversary", every],
        ["min-entropy leakage", at_most(audit.min_entropy_leakage), "guessing the value at one try", nominal],
        ["mutual information", at_most(audit.mutual_information), "average information density", nominal],
        ["total variation", at_most(audit.total_variation), "½ Σ π q |λ-1|", nominal],
        ["χ² information", at_most(audit.chi_square), "Σ π q (λ-1)²", nominal],
        ["Hellinger information", at_most(audit.hellinger), "Σ π q (1-√λ)²", nominal],
    ]
    if audit.capacity is not None:
        gap = f"gap {at_most(audit.capacity.gap, 3)}"
        rows.append(["Shannon capacity", at_most(audit.capacity.upper), gap, none])
    rows += [
        [f"P(ℓ > ε) at {level_words}", at_most(audit.tail), "can grow under post-processing", nominal],
        [f"ψ1 at {level_words}", at_most(audit.psi1), "can grow under post-processing", nominal],
        [f"ψ2 at {level_words}", at_most(audit.psi2), "cannot", nominal],
        [f"quantiles of ℓ at δ = {delta}", _pair(audit.quantiles), "lower, upper; can grow", nominal],
        ["ε of LDP", at_most(audit.ldp), "compares values, uses no prior", none],
    ]
    if audit.ldp_delta is not None:
        rows.append([f"ε of LDP at δ = {delta}", at_most(audit.ldp_delta), "(ε, δ)-LDP", none])
    if audit.probabilistic_ldp is not None:
        told = at_most(audit.probabilistic_ldp)
        rows.append([f"P(loss > ε) at {level_words}", told, "probabilistic LDP", none])
    both = audit.information_privacy
    rows += [
        ["information density, both sides", _pair((both.upper, both.lower)), "up, down", nominal],
        ["privacy region", audit.region, f"values an outcome may rule out: {audit.zeros_allowed}", nominal],
    ]
    return rows if audit.of_set else [row[:-1] for row in rows]


def _outcome_rows(audit: Audit) -> list[list[object]]:
    worst = sorted(audit.outcomes, key=lambda outcome: -outcome.leakage)
    return [
        [
            label_text(one.label),
            number(one.probability),
            at_most(one.leakage),
            at_most(one.ratio),
            label_text(one.letter),
        ]
        for one in worst
    ]


def _letter_rows(audit: Audit) -> list[list[object]]:
    return [
        [label_text(each.label), number(each.prior), at_most(each.range[1]), at_least(each.range[0])]
        for each in sorted(audit.letters, key=lambda letter: letter.prior - letter.most)
    ]


def tables(audit: Audit) -> list[Table]:
    """The tables of an audit; for a set of priors they say which of them a figure is about."""
    rows, columns = audit.mechanism.shape
    headers = ["measure", "value", "", "holds for"] if audit.of_set else ["measure", "value", ""]
    title = f"Measures of a mechanism with {counted(rows, 'value')} and {counted(columns, 'outcome')}"
    measures = Table(headers, _rows(audit), title, align="l" * len(headers))
    found = []
    if audit.letters:
        headers = ["value", "before", "at most after", "at least after"]
        about = " (the nominal prior)" if audit.of_set else ""
        found.append(Table(headers, _letter_rows(audit), f"Values, the most exposed first{about}", align="llll"))
    if audit.outcomes:
        headers = ["outcome", "probability", "leakage ℓ", "e^ℓ", "most about"]
        about = " (probability: the nominal prior; leakage: every prior of the set)" if audit.of_set else ""
        found.append(Table(headers, _outcome_rows(audit), f"Outcomes, the most revealing first{about}", align="lllll"))
    return [*found, measures]


def _pair(values: tuple[float, float]) -> str:
    return f"{at_most(values[0])}, {at_most(values[1])}"
