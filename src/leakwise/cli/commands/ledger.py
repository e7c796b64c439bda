"""``leakwise ledger``: what was released of each secret, the total, and the budget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakwise.cli.options.reading import number
from leakwise.cli.screen.output import JsonOption, print_json, print_table, show
from leakwise.errors import InvalidInput

if TYPE_CHECKING:
    from leakwise.tables import Ledger

__all__ = ["register"]

_HELP = """Show what was released of each secret, what all releases reveal together, and the budget.

\b
leakwise release survey.csv -c smokes --domain no,yes --lift 2 --prior uniform --ledger ledger.db
leakwise ledger show ledger.db
leakwise ledger budget ledger.db --dataset survey.csv -c smokes --lift 4
leakwise ledger export ledger.db ledger.json
"""

_ledger = typer.Typer(no_args_is_help=True, help=_HELP)

LedgerArgument = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger file.")]
DatasetOption = Annotated[str, typer.Option("--dataset", metavar="NAME", help="The name of the data in the ledger.")]
SecretOption = Annotated[
    list[str], typer.Option("--column", "-c", metavar="NAME", help="The secret column; several are one joint secret.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.add_typer(_ledger, name="ledger")


def _open(path: Path) -> Ledger:
    from leakwise.tables import Ledger

    if not path.exists():
        raise InvalidInput(f"There is no ledger {str(path)!r}. A release with --ledger, or a budget, creates one.")
    return Ledger(path)


@_ledger.command("show")
def show_all(ledger: LedgerArgument, as_json: JsonOption = False) -> None:
    """Show what all releases of each secret reveal together.

    \b
    leakwise ledger show ledger.db
    """
    show(_open(ledger), as_json)


@_ledger.command()
def entries(ledger: LedgerArgument, as_json: JsonOption = False) -> None:
    """List every release, in the order in which they were made."""
    found = [one.summary() for one in _open(ledger).entries()]
    if as_json:
        print_json(found)
        return
    heads = ["id", "time", "state", "dataset", "secret", "given", "lift", "rows", "origin"]
    print_table(heads, [[one[head] if one[head] is not None else "" for head in heads] for one in found])


@_ledger.command()
def total(ledger: LedgerArgument, dataset: DatasetOption, column: SecretOption, as_json: JsonOption = False) -> None:
    """Show what all releases of one secret reveal together."""
    show(_open(ledger).total(dataset, column), as_json)


@_ledger.command()
def budget(
    ledger: LedgerArgument,
    dataset: DatasetOption,
    column: SecretOption,
    lift: Annotated[str | None, typer.Option("--lift", metavar="LIFT", help="The budget, as a lift.")] = None,
    epsilon: Annotated[str | None, typer.Option("--epsilon", metavar="NATS", help="The budget, as ε in nats.")] = None,
) -> None:
    """Set the most that all releases of a secret together may reveal; a release beyond it is refused.

    \b
    leakwise ledger budget ledger.db --dataset survey.csv -c smokes --lift 4
    """
    from leakwise.tables import Ledger

    book = Ledger(ledger)
    book.set_budget(
        dataset,
        column,
        None if epsilon is None else number(epsilon, "--epsilon"),
        lift=None if lift is None else number(lift, "--lift"),
    )
    typer.echo(repr(book.total(dataset, column)))


@_ledger.command()
def cancel(
    ledger: LedgerArgument, entry: Annotated[int, typer.Argument(metavar="ENTRY", help="The number of the entry.")]
) -> None:
    """Cancel an entry whose release was never made and of which nobody has seen anything."""
    _open(ledger).cancel(entry)
    typer.echo(f"Entry {entry} no longer counts.")


@_ledger.command()
def export(
    ledger: LedgerArgument, out: Annotated[Path, typer.Argument(metavar="OUT", help="A .json or .csv file.")]
) -> None:
    """Export the ledger for others to read; the key of its digests stays inside."""
    _open(ledger).export(out)
    typer.echo(f"Ledger exported: {out}")
