"""The sections of a report on several secrets: what all outcomes tell together first, then each secret, folded."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from leakwise.alphabet import joined
from leakwise.charts.page import paragraph, section
from leakwise.exact import log_upper
from leakwise.guarantee import at_most, never_certain
from leakwise.mechanism import StratifiedMechanism
from leakwise.report.sections import columns, exact_over, html_rows, limits, proof
from leakwise.report.several_facts import SeveralFacts

__all__ = ["several_sections"]


def several_sections(facts: SeveralFacts, parts: Sequence[Sequence[str]]) -> list[str]:
    """Return all sections, as HTML; ``parts`` are those about each secret."""
    denominators = [
        one.denominator
        for part in facts.parts
        for one in (part.mechanism.mechanisms if isinstance(part.mechanism, StratifiedMechanism) else [part.mechanism])
    ]
    return [
        _promise(facts),
        columns(facts),
        _secrets(facts),
        *(_folded(part.secret, own) for part, own in zip(facts.parts, parts, strict=True)),
        _back(facts),
        limits(facts),
        proof(facts, exact_over(denominators)),
    ]


def _promise(facts: SeveralFacts) -> str:
    total = facts.certificate.total
    asked = f" Asked for all together: {total.words}. It is kept." if total is not None else ""
    detail = (
        f"In numbers: pointwise maximal leakage of at most {at_most(log_upper(facts.promised), 6)} nats (rounded up) "
        f"from all outcomes together. It was computed from the exact integers that the rows were drawn from.{asked}"
    )
    certain = paragraph(never_certain(facts.promised)) if facts.promised > 1 else ""
    return section("The guarantee", f'<p class="promise">{escape(facts.guarantee)}</p>\n', paragraph(detail), certain)


def _secrets(facts: SeveralFacts) -> str:
    """One line for each secret, for each two where they are known, and for the whole row."""
    rows = [
        [
            escape(part.secret),
            at_most(part.promised),
            "—" if part.anyone is None else at_most(part.anyone),
            escape(joined(part.given)) if part.given else "nothing",
        ]
        for part in facts.parts
    ]
    anyone = "—" if facts.anyone is None else at_most(facts.anyone)
    rows.append(["all together (the product)", at_most(facts.product), anyone, ""])
    told = [
        paragraph(
            "What the outcome of each secret adds to the columns and outcomes beside it: no guess about it, or about "
            "anything else in the row, becomes more than so many times as likely. The lifts multiply."
        ),
        html_rows(["secret", "lift", "for anyone", "beside"], rows),
    ]
    if facts.certificate.exact:
        exact = [
            [
                "the whole row"
                if len(places) == len(facts.parts)
                else escape(joined(facts.parts[place].secret for place in places)),
                at_most(lift),
            ]
            for places, lift in facts.certificate.exact.items()
        ]
        told += [
            paragraph(
                "From all outcomes together, by the prior of all secrets that was given: the largest lift there is, of "
                "each secret, of every two, and of the whole row. It was found by going through all rows and outcomes."
            ),
            html_rows(["about", "largest lift"], exact),
        ]
    else:
        told.append(
            paragraph(
                "What all outcomes tell about one secret, or about two, is at most what they tell about the whole row."
            )
        )
    return section("The secrets", *told)


def _folded(name: str, sections: Sequence[str]) -> str:
    inside = "".join(sections).replace("<h2>", "<h3>").replace("</h2>", "</h3>")
    return f"<details><summary>{escape(name)}</summary>\n{inside}</details>\n"


def _back(facts: SeveralFacts) -> str:
    names = [part.columns[0] if len(part.columns) == 1 else part.columns for part in facts.parts]
    file = facts.released
    if file is not None and file.lower().endswith((".parquet", ".pq", ".arrow", ".arrows", ".feather", ".ipc")):
        call, words = f"lw.estimate({file!r}, {dict.fromkeys(names)!r})", "The file contains its mechanisms."
    elif file is not None and facts.mechanism_file is not None:
        call = f"lw.estimate({file!r}, {dict.fromkeys(names)!r})"
        words = "The mechanisms are in the files next to it."
    else:
        call = f"lw.estimate({'released' if file is None else repr(file)}, mechanisms)"
        words = (
            f"mechanisms is a mapping from {joined(map(repr, names))} to the mechanisms that the owner of the table "
            "shares with it."
        )
    return section(
        "How to estimate from it",
        paragraph(
            "The outcomes are not values. Their joint frequencies are estimated by going back through the mechanisms, "
            f"all at once, because later ones depend on earlier outcomes. {words}"
        ),
        f"<pre>import leakwise as lw\n\nprint({escape(call)})</pre>\n",
    )
