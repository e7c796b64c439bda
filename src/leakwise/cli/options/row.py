"""Options that say what goes out beside a secret, and files that may be by stratum."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leakwise.cli.options import csv_files
from leakwise.cli.options.domain import read_domain
from leakwise.cli.options.reading import every_prior_left, named_after, read_mechanism, read_prior
from leakwise.cli.options.typed import number, typed_words
from leakwise.errors import InvalidInput

if TYPE_CHECKING:
    from leakwise.mechanism import Mechanism, StratifiedMechanism
    from leakwise.priors import PriorByStratum, PriorSet

__all__ = [
    "ChangesOption",
    "CoarsenOption",
    "DropOption",
    "GivenOption",
    "LeastRowsOption",
    "MemoOption",
    "PersonOption",
    "PriorCostOption",
    "UnrelatedOption",
    "read_any_mechanism",
    "read_coarsen",
    "read_names",
    "read_prior_by_stratum",
    "read_to_certify",
]

GivenOption = Annotated[
    list[str] | None,
    typer.Option(
        "--given",
        metavar="NAMES",
        help="Columns that go out as they are, and for whose readers the guarantee holds: sex,income. A name with a "
        "comma goes in double quotes; the option may be repeated [default: with --prior-from-table all that are "
        "neither --unrelated nor --drop].",
    ),
]
UnrelatedOption = Annotated[
    list[str] | None,
    typer.Option(
        "--unrelated",
        metavar="NAMES",
        help="Columns that go out and tell nothing more about the secret: the guarantee rests on it, and a table that "
        "contradicts it is refused.",
    ),
]
DropOption = Annotated[
    list[str] | None, typer.Option("--drop", metavar="NAMES", help="Columns that are left out of the released table.")
]
CoarsenOption = Annotated[
    list[str] | None,
    typer.Option(
        "--coarsen",
        metavar="NAME=BINS",
        help="A column of numbers or dates that goes out in bins: age=bins:0,100,20 for 20 of them, "
        "age=bins:0,18,65,inf by their edges, born=bins:1920,2025,year. May be repeated.",
    ),
]
LeastRowsOption = Annotated[
    int,
    typer.Option(
        "--least-rows",
        metavar="ROWS",
        help="With --prior-from-table: combinations of the given columns with fewer rows do not use frequencies of "
        "their own.",
    ),
]
MemoOption = Annotated[
    Path | None,
    typer.Option(
        "--memo",
        metavar="KEYFILE",
        help="Draws repeat by this key (leakwise memo-key makes one): an unchanged value of a person has the same "
        "outcome in every release by the same --mechanism.",
    ),
]
PersonOption = Annotated[
    str | None, typer.Option("--person", metavar="NAME", help="With --memo: the column that says whose row it is.")
]
ChangesOption = Annotated[
    int | None,
    typer.Option(
        "--changes",
        metavar="TIMES",
        help="With --memo and --ledger: how often at most a person's value changed since the first release by this key "
        "and mechanism; 0 where values cannot change.",
    ),
]
PriorCostOption = Annotated[
    str | None,
    typer.Option(
        "--prior-cost",
        metavar="NATS",
        help="With --prior-from-table: count the frequencies with noise, for so much of the limits. All that leaves "
        "then depends on the noisy counts alone [default: rounded frequencies, which are treated as public].",
    ),
]


def read_names(texts: Sequence[str] | None) -> list[str] | None:
    """Return the columns that an option names.

    >>> read_names(["sex,income", '"age, in years"'])
    ['sex', 'income', 'age, in years']
    """
    if texts is None:
        return None
    typed = [typed_words(text) for text in texts if text.strip()]
    return [rest if name is None else name + rest for one in typed for name, rest in one]


def read_coarsen(texts: Sequence[str] | None) -> dict[str, Any] | None:
    """Return the bins that ``--coarsen`` names, by column.

    >>> list(read_coarsen(["age=bins:0,100,2"])["age"])
    ['[0, 50)', '[50, 100]']
    """
    if texts is None:
        return None
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, bins = text.rpartition("=")
        if not equals or not bins.startswith("bins:"):
            raise InvalidInput(
                "--coarsen must be NAME=bins:…, such as age=bins:0,100,10, age=bins:0,18,65,inf or "
                f"born=bins:1920,2025,year. Got {text!r}."
            )
        if name in found:
            raise InvalidInput(f"--coarsen names the column {name!r} twice.")
        found[name] = read_domain(bins)
    return found


def read_any_mechanism(text: str) -> Mechanism | StratifiedMechanism:
    """Return a mechanism, from a file also one by stratum."""
    from leakwise.mechanism import StratifiedMechanism
    from leakwise.mechanism.stratified_file import FORMAT

    return StratifiedMechanism.load(text) if _is(text, FORMAT) else read_mechanism(text)


def read_prior_by_stratum(text: str) -> PriorByStratum | None:
    """Return the priors by stratum of a file; None where the text is something else."""
    from leakwise.priors import PriorByStratum
    from leakwise.priors.by_stratum_file import FORMAT

    return PriorByStratum.load(text) if _is(text, FORMAT) else None


def read_to_certify(
    mechanism: str,
    prior: str | None,
    counts: str | None = None,
    data: Path | None = None,
    column: str | None = None,
    domain: str | None = None,
    failure: str | None = None,
) -> tuple[Mechanism, PriorSet] | tuple[StratifiedMechanism, PriorByStratum]:
    """Return a mechanism with its prior, or one by stratum with its priors; with --failure all that samples leave."""
    from leakwise.mechanism import Mechanism

    chosen = read_any_mechanism(mechanism)
    if isinstance(chosen, Mechanism):
        found = read_prior(prior, counts, data, column, domain, mechanism=chosen)
        return named_after(chosen, found), every_prior_left(found, failure)
    others = {"--counts": counts, "--data": data, "--column": column, "--domain": domain}
    priors = None if prior is None else read_prior_by_stratum(prior)
    if priors is None or any(value is not None for value in others.values()):
        got = " and ".join(name for name, value in {"--prior": prior, **others}.items() if value is not None)
        raise InvalidInput(
            f"{mechanism!r} is a mechanism by stratum. It needs --prior FILE alone, the priors of its strata as "
            f"lw.PriorByStratum.from_data(...).save(FILE) writes them. Got {got or 'none'}."
        )
    return chosen, priors if failure is None else priors.confidence(number(failure, "--failure"), "layer-cake")


def _is(text: str, wanted: str) -> bool:
    from leakwise.documents import document_format

    path = Path(text)
    return csv_files.exists(path) and csv_files.is_json(path) and document_format(path) == wanted
