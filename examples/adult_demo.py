"""From a table to a table: the Adult census extract, its marital status released at most 2 times as likely.

Run by ``make demo``. Leaves its files in demo-output/: the released table, mechanism, certificate and pictures.
"""

from __future__ import annotations

import csv
import math
import sys
import time
from pathlib import Path

import numpy as np

import leakwise as lw
from leakwise.charts.render import save
from leakwise.charts.specs import beside, grouped_bars
from leakwise.charts.table import number, text_table
from leakwise.data import adult_table

SECRET = "marital_status"
DOMAIN = [
    "Married-civ-spouse",
    "Never-married",
    "Divorced",
    "Separated",
    "Widowed",
    "Married-spouse-absent",
    "Married-AF-spouse",
]
# What everybody may know: rounded shares as an almanac would print them, not counts of this table.
PUBLIC = dict(zip(DOMAIN, ["0.46", "0.33", "0.137", "0.031", "0.03", "0.011", "0.001"], strict=True))
LIFT = 2


def say(title: str, *lines: object) -> None:
    print(f"\n== {title}")
    for line in lines:
        print(line)


def error(estimate: lw.results.Estimate, truth: np.ndarray) -> float:
    return float(np.abs(estimate.frequencies - truth).sum() / 2)


def main(folder: Path) -> None:
    started = time.perf_counter()
    folder.mkdir(exist_ok=True)
    table = adult_table()
    rows = len(table[SECRET])
    header = list(table)
    first = [[table[name][row] for name in header] for row in range(5)]
    say(
        "1. The table",
        f"{rows:,} rows of the Adult census extract; the secret is {SECRET!r}.",
        text_table(header, first),
    )

    prior = lw.Prior(PUBLIC)
    say("2. What is publicly known about the secret: the prior", prior)

    design = lw.design(prior, lift=LIFT, utility="frequencies")
    response = lw.randomized_response(prior.labels, pml=math.log(LIFT), prior=prior)
    say(
        "3. The mechanism of least statistical error among all that leak no more",
        design,
        f"Picture: {save(beside(design.mechanism.chart(), design.chart()), folder / 'mechanism.svg')}",
    )

    certificate = design.certificate.verify()
    certificate.save(folder / "certificate.json")
    design.mechanism.save(folder / "mechanism.json")
    say(
        "4. What it leaks, proven on the integers that the release draws from",
        certificate.sentence.replace("the secret", "anyone's marital status"),
        f"ε = {certificate.epsilon_upper:.6f} nats, worst at {certificate.outcome!r} about {certificate.letter!r}.",
        f"Check it yourself: leakwise verify {folder / 'certificate.json'}",
    )

    released = lw.release(table, design.mechanism, column=SECRET)
    path = folder / "released.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(released)
        writer.writerows(zip(*released.values(), strict=True))
    first = [[released[name][row] for name in header] for row in range(5)]
    say("5. The released table, other columns and row order untouched", text_table(header, first), f"Written: {path}")

    truth = lw.Prior.from_data(table[SECRET], domain=DOMAIN).probabilities
    ours = lw.estimate(released, design.mechanism, column=SECRET)
    theirs = lw.estimate(lw.release(table, response, column=SECRET), response, column=SECRET)
    lines = [
        [label, number(p), number(a), f"±{number(1.96 * sa)}", number(b), f"±{number(1.96 * sb)}"]
        for label, p, a, sa, b, sb in zip(
            DOMAIN,
            truth,
            ours.frequencies,
            ours.standard_error,
            theirs.frequencies,
            theirs.standard_error,
            strict=True,
        )
    ]
    say(
        "6. The frequencies recovered from the released table, beside randomized response at the same leakage",
        text_table(["letter", "true", "ours", "95 %", "randomized response", "95 %"], lines),
        f"Total variation from the truth: {error(ours, truth):.4f}; randomized response {error(theirs, truth):.4f}.",
    )
    variance, plain = (design.value, _statistical_value(response, prior))
    say(
        "7. What randomized response would have cost at the same leakage",
        f"Certified leakage: {lw.certify(response, prior).epsilon_upper:.6f} nats, the same promise.",
        f"Variance of the recovered frequencies: {plain / variance:.2f} times ours, "
        f"so {plain / variance:.2f} times as many rows for the same accuracy.",
        f"Mutual information left: {lw.mutual_information(response, prior):.4f} nats; "
        f"ours keeps {lw.mutual_information(design.mechanism, prior):.4f}.",
    )
    picture = grouped_bars(
        DOMAIN,
        {"true": truth, "ours": ours.frequencies, "randomized response": theirs.frequencies},
        title="Recovered frequencies",
        value_title="frequency",
    )
    print(f"Picture: {save(picture, folder / 'frequencies.svg')}")
    print(f"\nDone in {time.perf_counter() - started:.1f} s. Files to look at are in {folder}/")


def _statistical_value(mechanism: lw.Mechanism, prior: lw.Prior) -> float:
    """Minus the sum of the asymptotic variances per row, as ``utility="frequencies"`` measures it."""
    from leakwise.leakage import lifts
    from leakwise.optimize import Frequencies

    law = prior.probabilities @ mechanism.matrix
    return Frequencies().value(lifts(mechanism, prior), law, prior)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("demo-output"))
