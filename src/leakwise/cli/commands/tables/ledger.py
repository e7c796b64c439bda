"""``leakwise ledger``: what was released, what all of it reveals together, and the budgets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from leakwise.charts.shown import Table
from leakwise.charts.words import Notice
from leakwise.cli.options.reading import CountsOption, FailureOption, PriorOption
from leakwise.cli.options.row import read_to_certify
from leakwise.cli.options.typed import number_if_given
from leakwise.cli.screen.output import AllOption, JsonOption, Said, show
from leakwise.errors import Infeasible, InvalidInput

if TYPE_CHECKING:
    from leakwise.tables import Ledger

__all__ = ["register"]

_HELP = """Show what was released, what all releases together reveal about a row, and what is left of the budgets.

\b
leakwise release survey.csv -c smokes --domain no,yes --lift 2 --prior uniform --ledger ledger.db
leakwise ledger ledger.db
leakwise ledger budget ledger.db --default --lift 8
leakwise ledger settle ledger.db
leakwise ledger export ledger.db ledger.json
"""


class _ShowFirst(TyperGroup):
    """A group that takes the name of a file for ``show`` and that file."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.commands and (Path(args[0]).suffix or Path(args[0]).exists()):
            args = ["show", *args]
        return super().resolve_command(ctx, args)


_ledger = typer.Typer(no_args_is_help=True, help=_HELP, cls=_ShowFirst)

LedgerArgument = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger file.")]
DatasetOption = Annotated[str, typer.Option("--dataset", metavar="NAME", help="The name of the data in the ledger.")]
OneDatasetOption = Annotated[
    str | None, typer.Option("--dataset", metavar="NAME", help="The name of the data in the ledger [default: all].")
]
SecretOption = Annotated[
    list[str] | None,
    typer.Option("--column", "-c", metavar="NAME", help="A column; several are one set [default: the whole row]."),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.add_typer(_ledger, name="ledger")


def _open(path: Path) -> Ledger:
    from leakwise.tables import Ledger

    if not path.exists():
        raise InvalidInput(
            f"There is no ledger {str(path)!r}. A release with --ledger creates one, and so does a budget: leakwise "
            "ledger budget LEDGER --default --lift 8."
        )
    return Ledger(path)


@_ledger.command()
def add(
    ledger: LedgerArgument,
    dataset: DatasetOption,
    secret: Annotated[
        list[str],
        typer.Option("--secret", "-c", metavar="NAME", help="The column whose values are the secret; several are one."),
    ],
    mechanism: Annotated[
        str, typer.Option("--mechanism", metavar="MECHANISM", help="What draws: a file, a CSV matrix, or a name.")
    ],
    prior: PriorOption = None,
    counts: CountsOption = None,
    failure: FailureOption = None,
    rows: Annotated[int | None, typer.Option("--rows", metavar="NUMBER", min=1, help="The number of rows.")] = None,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Enter a release that is made elsewhere, by another program, with the mechanism that it draws from.

    It counts for good from then on. Beyond a budget it is refused with exit code 2, and nothing is entered: do not make
    the release. The values are taken to be those of every other release of the dataset. A mechanism by stratum takes
    --prior FILE, the priors of its strata; its given columns are entered as seen beside the outcome.

    \b
    leakwise ledger budget ledger.db --dataset survey.csv --lift 8
    leakwise ledger add ledger.db --dataset survey.csv --secret smokes --mechanism mechanism.json --prior no=0.8,yes=0.2
    """
    from leakwise.guarantee import COVERS, at_most, taken_as_exact
    from leakwise.proof import certify

    book = _open(ledger)
    chosen, known = read_to_certify(mechanism, prior, counts, failure=failure)
    certificate = certify(chosen, known)
    samples = [known.nominal] if hasattr(known, "nominal") else [known[key].nominal for key in known]
    origin = f"{'given' if all(one.sample_size is None for one in samples) else 'counted'}; made elsewhere"
    try:
        entry = book.reserve(dataset, tuple(secret), certificate, origin=origin, rows=rows)
    except Infeasible as error:
        raise Infeasible(
            f"{str(error).removesuffix(' Nothing was released.')} Nothing was entered. Do not make this release; if it "
            "was made already, raise the budget (leakwise ledger budget) and enter it, for it counts all the same.",
            witness=error.witness,
        ) from error
    book.confirm(entry)
    after = book.total(dataset)
    released = f"a release of {', '.join(secret)} with a lift of {at_most(certificate.largest_lift)}"
    words = f"Entry {entry} counts for good: {released}."
    data = {"entry": entry, "counts": True, "lift": certificate.largest_lift, "total": after.to_dict()}
    counted = taken_as_exact(known, COVERS)
    show(Said([words, *after._shown(), *([] if counted is None else [Notice(counted)])], data), as_json, everything)


@_ledger.command("show")
def show_all(
    ledger: LedgerArgument, dataset: OneDatasetOption = None, as_json: JsonOption = False, everything: AllOption = False
) -> None:
    """Show the total for each column, each set with a budget and the whole row, and what each release added.

    Also what is left of each budget, and entries of which it is not known whether they were released.

    \b
    leakwise ledger show ledger.db
    leakwise ledger show ledger.db --dataset survey.csv
    """
    book = _open(ledger)
    show(book if dataset is None else book.account(dataset), as_json, everything)


@_ledger.command()
def entries(ledger: LedgerArgument, as_json: JsonOption = False, everything: AllOption = False) -> None:
    """List every release, in the order in which they were made.

    \b
    leakwise ledger entries ledger.db
    """
    found = [one.summary() for one in _open(ledger).entries()]
    heads = ["id", "time", "state", "dataset", "secret", "given", "outcomes", "lift", "rows", "origin"]
    rows = [[one[head] if one[head] is not None else "" for head in heads] for one in found]
    show(Said([Table(heads, rows)], found), as_json, everything)


@_ledger.command()
def total(
    ledger: LedgerArgument,
    dataset: DatasetOption,
    column: SecretOption = None,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Show what all releases together reveal about some columns, or about the whole row.

    \b
    leakwise ledger total ledger.db --dataset survey.csv
    leakwise ledger total ledger.db --dataset survey.csv -c smokes --json
    """
    opened = _open(ledger)
    found = opened.total(dataset, column or None)
    if not found.releases:
        opened.account(dataset)  # refuses data that the ledger does not have: a mistyped name would reveal nothing
    show(found, as_json, everything)


@_ledger.command()
def budget(
    ledger: LedgerArgument,
    dataset: Annotated[
        str | None,
        typer.Option("--dataset", metavar="NAME", help="The name of the data, unless --default [default: none]."),
    ] = None,
    column: SecretOption = None,
    lift: Annotated[str | None, typer.Option("--lift", metavar="LIFT", help="The budget, as a lift.")] = None,
    epsilon: Annotated[str | None, typer.Option("--epsilon", metavar="NATS", help="The budget, as ε in nats.")] = None,
    default: Annotated[
        bool, typer.Option("--default", help="For every dataset that has no such budget of its own.")
    ] = False,
    each_column: Annotated[
        bool, typer.Option("--each-column", help="For each column that is released, by itself.")
    ] = False,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Set the most that all releases of the data together may reveal; a release beyond it is refused.

    Every release of the data spends it, of whatever columns: they may be correlated.

    \b
    leakwise ledger budget ledger.db --dataset survey.csv -c smokes --lift 4
    leakwise ledger budget ledger.db --dataset survey.csv --lift 8
    leakwise ledger budget ledger.db --default --each-column --lift 4
    """
    from leakwise.tables import Ledger

    if (dataset is None) != default:
        raise InvalidInput(
            "Name the data of the budget with --dataset NAME, or set it for every dataset with --default. Got "
            f"{'both' if default else 'neither'}."
        )
    book = Ledger(ledger)
    book.set_budget(
        dataset,
        column or None,
        number_if_given(epsilon, "--epsilon"),
        lift=number_if_given(lift, "--lift"),
        each_column=each_column,
    )
    if dataset is not None and not each_column:
        show(book.total(dataset, column or None), as_json, everything)
    else:
        show(book, as_json, everything)


@_ledger.command()
def settle(
    ledger: LedgerArgument,
    entry: Annotated[
        int | None, typer.Argument(metavar="ENTRY", help="The number of the entry [default: list them].")
    ] = None,
    released: Annotated[
        bool, typer.Option("--released", help="The table is out, or may be: the entry counts for good.")
    ] = False,
    not_released: Annotated[
        bool, typer.Option("--not-released", help="Nobody has seen any of it, nor will: the entry counts no more.")
    ] = False,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Say of a reserved entry, which a stopped process left behind, whether its release was made.

    Without an entry it lists them and says what each choice means. Entries that were made together are settled
    together.

    \b
    leakwise ledger settle ledger.db
    leakwise ledger settle ledger.db 2 --released
    """
    from leakwise.tables.ledger.account import Unsettled

    book = _open(ledger)
    if entry is None or released == not_released:
        if released or not_released:
            raise InvalidInput(
                "Name the ENTRY that is to be settled, and --released or --not-released, which exclude each other. "
                "Without options the command says what each means."
            )
        found = Unsettled([one for one in book.entries() if one.state == "reserved" and entry in (None, one.id)])
        show(found, as_json, everything)
        return
    book.settle(entry, released=released)
    _settled(entry, released, as_json)


def _settled(entry: int, counts: bool, as_json: bool) -> None:
    words = f"Entry {entry} {'counts for good' if counts else 'no longer counts'}."
    show(Said([words], {"entry": entry, "counts": counts}), as_json)


@_ledger.command()
def cancel(
    ledger: LedgerArgument,
    entry: Annotated[int, typer.Argument(metavar="ENTRY", help="The number of the entry.")],
    as_json: JsonOption = False,
) -> None:
    """Cancel an entry whose release was never made and of which nobody has seen anything (as settle --not-released).

    \b
    leakwise ledger cancel ledger.db 2
    """
    _open(ledger).cancel(entry)
    _settled(entry, False, as_json)


@_ledger.command()
def export(
    ledger: LedgerArgument,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A .json or .csv file.")],
    as_json: JsonOption = False,
) -> None:
    """Export the ledger for others to read; the key of its digests stays inside.

    \b
    leakwise ledger export ledger.db ledger.json
    """
    _open(ledger).export(out)
    show(Said([f"Ledger exported: {out}"], {"out": str(out)}), as_json)
