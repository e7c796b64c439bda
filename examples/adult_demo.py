"""From a table to a table: the Adult census extract, with sex and income going out beside a released marital status.

Run by ``make demo``. Leaves its files in demo-output/: the released table, mechanism, certificate, report and pictures.
"""

from __future__ import annotations

import csv
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import leakwise as lw
from leakwise.charts.render import save
from leakwise.charts.specs import grouped_bars
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
GIVEN, DROPPED = ["sex", "income"], ["occupation"]
LIFT, FAILURE = 2, 1e-6


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
        f"{rows:,} rows of the Adult census extract; the secret is {SECRET!r}, beside which sex and income go out.",
        text_table(header, first),
    )

    alone = lw.design(lw.Prior(PUBLIC), lift=LIFT, utility="frequencies")
    seen = lw.audit_table(table, SECRET, given=GIVEN, mechanism=alone.mechanism)
    say(
        "2. A mechanism for the column alone, from a public prior of its values",
        alone.certificate.sentence.replace("the secret", "anyone's marital status"),
        "But a row shows more than the outcome. For anyone who sees sex and income beside it,",
        f"the outcome makes a value up to {seen.added.lift:.3g} times as likely as they make it already:",
        *(f"  {line}" for line in seen.sentences[:2]),
    )

    done = lw.protect(
        table, SECRET, domain=DOMAIN, lift=LIFT, prior="table", failure=FAILURE, given=GIVEN, drop=DROPPED
    )
    checked = lw.audit_table(done.table | {SECRET: table[SECRET]}, SECRET, given=GIVEN, mechanism=done.mechanism)
    done.certificate.verify()
    done.certificate.save(folder / "certificate.json")
    done.mechanism.save(folder / "mechanism.json")
    done.report(folder / "report.html", mechanism=folder / "mechanism.json")
    say(
        "3. A mechanism for each combination of sex and income, from the frequencies of the table",
        done.guarantee,
        f"Measured on the rows: the outcome makes a value up to {checked.added.lift:.3g} times as likely, "
        f"and it was {seen.added.lift:.3g} times without the other columns in the design.",
        f"Check it yourself: leakwise verify {folder / 'certificate.json'}",
    )

    path = folder / "released.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(done.table)
        writer.writerows(zip(*done.table.values(), strict=True))
    kept = list(done.table)
    first = [[done.table[name][row] for name in kept] for row in range(5)]
    say("4. The released table, row order untouched", text_table(kept, first), f"Written: {path}")

    truth = lw.Prior.from_data(table[SECRET], domain=DOMAIN).probabilities
    response = lw.randomized_response(DOMAIN, lift=LIFT)
    ours = lw.estimate(done.table, done.mechanism, column=SECRET)
    column = lw.estimate(lw.release(table, alone.mechanism, column=SECRET), alone.mechanism, column=SECRET)
    theirs = lw.estimate(lw.release(table, response, column=SECRET), response, column=SECRET)
    lines = [
        [label, number(p), *(text for one in (ours, column, theirs) for text in _told(one, place))]
        for place, (label, p) in enumerate(zip(DOMAIN, truth, strict=True))
    ]
    say(
        "5. The frequencies recovered from the released table",
        text_table(["value", "true", "row", "95 %", "column alone", "95 %", "randomized response", "95 %"], lines),
        f"Total variation from the truth: {error(ours, truth):.4f} with the guarantee for the row, "
        f"{error(column, truth):.4f} with the one for the column alone, {error(theirs, truth):.4f} by randomized "
        f"response, which keeps lift {LIFT} for anyone, whatever columns they see.",
        f"By sex: {_by_sex(done)}",
    )
    say("6. With every column given, and with frequencies that are paid for", *_other_choices(table))
    picture = grouped_bars(
        DOMAIN,
        {"true": truth, "ours": ours.frequencies, "randomized response": theirs.frequencies},
        title="Recovered frequencies",
        value_title="frequency",
    )
    print(f"Picture: {save(picture, folder / 'frequencies.svg')}")
    print(f"\nDone in {time.perf_counter() - started:.1f} s. Files to look at are in {folder}/")


def _told(estimate: lw.results.Estimate, place: int) -> tuple[str, str]:
    return number(estimate.frequencies[place]), f"±{number(1.96 * estimate.standard_error[place])}"


def _by_sex(done: lw.results.Protection) -> str:
    found = lw.estimate(done.table, done.mechanism, column=SECRET, by="sex")
    place = DOMAIN.index("Widowed")
    return ", ".join(
        f"{100 * one.frequencies[place]:.1f}% of {key} are widowed (±{196 * one.standard_error[place]:.1f})"
        for key, one in found.groups.items()
    )


def _other_choices(table: dict[str, list[str]]) -> list[str]:
    lines = []
    options = {"lift": LIFT, "prior": "table", "failure": FAILURE, "domain": DOMAIN}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", lw.LeakwiseWarning)
        every = lw.protect(table, SECRET, **options)
    lines += [f"All other columns given: {message.message}" for message in said]
    lines.append(f"Largest standard error: {_largest(every):.4f}")
    paid = lw.protect(table, SECRET, given=GIVEN, drop=DROPPED, prior_cost=0.05, **options)
    lines.append(f"Counted with noise for 0.05 nats, so that the certificate can be published: {_largest(paid):.4f}")
    return lines


def _largest(done: lw.results.Protection) -> float:
    return float(max(lw.estimate(done.table, done.mechanism, column=SECRET).standard_error))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("demo-output"))
