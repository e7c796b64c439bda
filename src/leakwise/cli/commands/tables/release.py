"""``leakwise release``: turn a table with a secret column into a released table, a report and a ledger entry."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from leakwise.cli.files.beside_table import BesideTable
from leakwise.cli.files.paths import check_paths, files_beside, places_of_mechanisms, source_and_target
from leakwise.cli.files.standard_streams import FormatOption, OutFormatOption, standard_output, warn_of_pipe
from leakwise.cli.options.account import KeyOption, NewPeopleOption, OutcomeOption, SameAsOption, read_outcomes
from leakwise.cli.options.database import FromSqlOption, ToSqlOption
from leakwise.cli.options.domain import DomainsOption, MissingOption, domain_files
from leakwise.cli.options.limits import (
    CeilingOption,
    FloorOption,
    ForbiddenOption,
    KeepAtLeastOption,
    LiftOfOption,
    MarginOption,
    ValuesOption,
    read_anyone,
    read_masks,
    read_value_limits,
)
from leakwise.cli.options.reading import PriorsOption
from leakwise.cli.options.results import CertificateOption
from leakwise.cli.options.row import (
    ChangesOption,
    CoarsenOption,
    DropOption,
    GivenOption,
    LeastRowsOption,
    MemoOption,
    PersonOption,
    PriorCostOption,
    UnrelatedOption,
    read_any_mechanism,
    read_coarsen,
    read_names,
)
from leakwise.cli.options.secret import check_columns
from leakwise.cli.options.settings import ConfigOption, SaveConfigOption, saved_settings
from leakwise.cli.options.several import JointOption, ProtectOption, TotalOption, read_protect, read_secret
from leakwise.cli.options.typed import number_if_given
from leakwise.cli.screen.output import AllOption, JsonOption, tell_release
from leakwise.cli.screen.progress import rows_bar
from leakwise.errors import InvalidInput, LeakwiseError
from leakwise.tables.release.paths import file_of
from leakwise.workflow.limits import TEN_TIMES

__all__ = ["release"]


def release(
    ctx: typer.Context,
    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help="A CSV, TSV, Parquet, Arrow, JSON-lines, Stata or SPSS file (also .csv.gz, .csv.zst), its address "
            "(s3://...), a folder of them (Hive too) or a pattern ('data/*.csv'), or - for the standard input; with "
            "--from-sql the name of a table.",
        ),
    ],
    column: Annotated[
        list[str] | None,
        typer.Option("--column", "-c", metavar="NAME", help="The secret column; several are one joint secret."),
    ] = None,
    each: ProtectOption = None,
    total: TotalOption = None,
    joint: JointOption = False,
    domain: DomainsOption = None,
    missing: MissingOption = False,
    lift: Annotated[
        str | None,
        typer.Option(
            "--lift",
            metavar="LIFT",
            help="The limit: no guess becomes more than LIFT times as likely. This, --epsilon, --margin or --protect "
            "is needed [default: none].",
        ),
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", metavar="NATS", help="The same limit as ε = log LIFT.")
    ] = None,
    anyone: Annotated[
        str,
        typer.Option(
            "--anyone", metavar="LIFT", help="A second limit, for anyone, whatever they knew; 'none' switches it off."
        ),
    ] = TEN_TIMES,
    lift_of: LiftOfOption = None,
    ceiling: CeilingOption = None,
    floor: FloorOption = None,
    margin: MarginOption = None,
    values: ValuesOption = None,
    use: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="USE",
            help="statistics (best for estimating frequencies) or reading (outcomes are values, as often true "
            "as possible).",
        ),
    ] = "statistics",
    keep_frequencies: Annotated[
        bool | None,
        typer.Option(
            "--keep-frequencies",
            help="With --for reading: outcomes come as often as the values do under the prior [default: on].",
        ),
    ] = None,
    any_frequencies: Annotated[
        bool,
        typer.Option("--no-keep-frequencies", help="With --for reading: outcomes agree with the truth most often."),
    ] = False,
    forbidden: ForbiddenOption = None,
    keep_at_least: KeepAtLeastOption = None,
    prior: PriorsOption = None,
    prior_from_table: Annotated[
        bool, typer.Option("--prior-from-table", help="Estimate the prior from the table itself; needs --failure.")
    ] = False,
    failure: Annotated[
        float | None,
        typer.Option("--failure", metavar="PROBABILITY", help="The probability that the rows mislead about the prior."),
    ] = None,
    given: GivenOption = None,
    unrelated: UnrelatedOption = None,
    drop: DropOption = None,
    coarsen: CoarsenOption = None,
    least_rows: LeastRowsOption = 1000,
    prior_cost: PriorCostOption = None,
    mechanism: Annotated[
        str | None,
        typer.Option("--mechanism", metavar="MECHANISM", help="A file or a name [default: the best for the use]."),
    ] = None,
    time_limit: Annotated[float, typer.Option("--time-limit", help="Seconds for the design of the mechanism.")] = 30.0,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="The released table, of any kind that TABLE can be, or - for the standard output [default: "
            "TABLE.released.…]; in a database a name [default: TABLE_released]. PostgreSQL takes and gives files, too.",
        ),
    ] = None,
    format: FormatOption = None,
    out_format: OutFormatOption = None,
    from_sql: FromSqlOption = None,
    to_sql: ToSqlOption = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="The report, .html or .json [default: next to --out]."),
    ] = None,
    steward_report: Annotated[
        Path | None,
        typer.Option(
            "--steward-report",
            metavar="FILE",
            help="Another page, .html or .json, for you alone: exact counts, and what the other columns say.",
        ),
    ] = None,
    certificate: CertificateOption = None,
    save_mechanism: Annotated[
        Path | None,
        typer.Option(
            "--save-mechanism",
            metavar="FILE",
            help="Save the mechanism, for leakwise estimate [default: next to --out for CSV, TSV and JSON].",
        ),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option("--ledger", metavar="FILE", help="The ledger to enter the release in, within its budget."),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option("--dataset", metavar="NAME", help="The data's name in the ledger [default: the file's]."),
    ] = None,
    key: KeyOption = None,
    same_as: SameAsOption = None,
    new_people: NewPeopleOption = False,
    outcome: OutcomeOption = None,
    memo: MemoOption = None,
    person: PersonOption = None,
    changes: ChangesOption = None,
    order: Annotated[
        str | None,
        typer.Option(
            "--order",
            metavar="ORDER",
            help="shuffle (rows in random order) or keep (their own order, even if it reveals the secret) "
            "[default: keep, but refuse an order that a test finds to reveal the secret].",
        ),
    ] = None,
    allow_certainty: Annotated[
        bool,
        typer.Option(
            "--allow-certainty",
            help="Release also if outcomes make a value certain, or nearly every guess right, or if a given column is "
            "nearly a copy of the secret.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show what the release would guarantee and tell, for you alone; write and enter nothing."
        ),
    ] = False,
    config: ConfigOption = None,
    save_config: SaveConfigOption = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that exist already.")] = False,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Release a secret column so that no guess about it becomes more than LIFT times as likely, and prove it.

    The best mechanism for the use is designed and certified, every value is checked, and only then is the released
    table written, atomically. The guarantee is about a row: each other column is --given (it holds for anyone who sees
    it), --unrelated (assumed to tell nothing more, which is checked) or left out (--drop). With --prior-from-table
    all are given unless you say otherwise: there is a mechanism for each combination of them, designed for rounded
    frequencies of the table and certified for every prior that its rows leave possible, except with probability
    --failure. With a public --prior of the secret alone you must say what they are. Combinations too rare to learn from
    get a mechanism that holds for every prior; the command says how many rows that are, and what would do better. A
    table whose row order reveals the secret is refused, unless --order says what to do, and so is a release that can be
    read, unless --allow-certainty says so. With --for reading the released column has the right frequencies as it
    stands, if the table's are those of the prior. With --margin no limit is given: the least lift is found with which
    the frequencies of all rows together can be estimated as accurately as that. Unless --anyone says otherwise, a
    second limit holds for anyone, whatever they knew: ten times the lift. Several secrets (--protect for each) are
    drawn for one after the other, by mechanisms for the outcomes that were drawn before; what all of them tell is at
    most the product of their lifts. For those without a lift --margin (one number, or SECRET=NUMBER for each) finds it.

    \b
    leakwise release survey.csv -c smokes --domain no,yes --lift 2 --prior no=0.8,yes=0.2
    leakwise release clinic.csv -c hiv --domain no,yes --lift 2 --prior-from-table --failure 1e-6 --drop name,age
    leakwise release clinic.csv -c hiv --lift 2 --prior no=0.9,yes=0.1 --unrelated ward --drop name,age,sex
    leakwise release clinic.csv -c hiv --lift 3 --prior no=0.9,yes=0.1 --ceiling yes=0.2 --drop name,age,sex,ward
    leakwise release clinic.csv -c hiv --margin 0.05 --prior no=0.9,yes=0.1 --drop name,age,sex,ward
    leakwise release clinic.csv -c ward --domain @wards.csv --missing --lift 2 --prior unknown --drop name,age,sex,hiv
    leakwise release survey.csv -c smokes --lift 2 --prior no=0.8,yes=0.2 --for reading --anyone none
    leakwise release ages.csv -c age --domain bins:0,18,65,inf --epsilon 0.7 --prior uniform --ledger ledger.db
    leakwise release survey.csv -c smokes --lift 2 --prior no=0.8,yes=0.2 --save-config smokes.toml
    leakwise release next_year.csv --config smokes.toml
    leakwise release y2.csv -c hiv --lift 2 --prior no=0.9,yes=0.1 --mechanism y1.json --memo key.bin --person id \\
      --drop id
    leakwise release clinic.csv --protect hiv=2 --protect age+sex=3 --domain no,yes --domain bins:0,100,5 \\
      --domain f,m --prior-from-table --failure 1e-6 --drop name,ward
    leakwise release 'years/*.csv' -c smokes --lift 2 --prior no=0.8,yes=0.2 -o all.parquet
    leakwise release customers --from-sql shop.db --to-sql out.db -c smokes --lift 2 --prior no=0.8,yes=0.2
    zcat t.csv.gz | leakwise release - --format csv -c hiv --lift 2 --prior no=0.9,yes=0.1 --out-format arrow > o.arrow
    leakwise release people --from-sql postgresql://ada@db.example/clinic -o public.people_released -c smokes \\
      --lift 2 --prior no=0.8,yes=0.2 --drop name
    """
    from leakwise.documents import created_like
    from leakwise.report import Protection
    from leakwise.tables.databases.sql_table import SqlTable
    from leakwise.tables.formats import open_table
    from leakwise.workflow.protect import protect

    # What is wrong is told in this order: the column, the domain and the prior, the files.
    pipe = standard_output(ctx, table, out, format, out_format, tables=bool(from_sql or to_sql))
    data, target = source_and_target(ctx, table, out if pipe is None else str(pipe.path), from_sql, to_sql, format)
    several = read_protect(each, column)
    opened = data if isinstance(data, SqlTable) else open_table(data, "TABLE")
    said: dict[str, Any] = {"given": read_names(given), "unrelated": read_names(unrelated), "drop": read_names(drop)}
    coarse = read_coarsen(coarsen)
    check_columns(opened, [*(column or []), *(several or {})], *said.values(), coarse)
    chosen = None if mechanism is None else read_any_mechanism(mechanism)
    named = read_secret(opened, column or [], several, domain, prior, prior_from_table, chosen, missing=missing)
    page, keep = report, save_mechanism
    if pipe is None:
        page, keep = files_beside(target, report, save_mechanism, settings=save_config is not None)
    else:
        warn_of_pipe(pipe.path, keep or mechanism, settings=save_config is not None)
    secrets = places_of_mechanisms(column or [], several, keep, joint=joint)
    check_paths(
        data,
        {
            **{f"--prior{' ' * place}": text for place, text in enumerate(prior or [])},
            **domain_files(domain),
            "--mechanism": mechanism,
            "--config": None if config is None else str(config),
            "--memo": None if memo is None else str(memo),
        },
        target,
        {"--report": page, "--steward-report": steward_report},
        {
            **{f"--save-mechanism{' ' * place}": path for place, (_, path) in enumerate(secrets)},
            "--certificate": certificate,
        },
        save_config,
        ledger,
        overwrite=overwrite,
    )
    if several is not None and steward_report is not None and not joint:
        raise InvalidInput("--steward-report is about one secret: leave it out beside --protect.")
    if keep_frequencies and any_frequencies:
        raise InvalidInput("--keep-frequencies and --no-keep-frequencies exclude each other. Leave one out.")
    sources = [file_of(opened)] if isinstance(opened, SqlTable) else opened.files
    releasing = partial(
        protect,
        opened,
        named.column,
        domain=named.domain,
        total=number_if_given(total, "--total"),
        joint=joint,
        epsilon=number_if_given(epsilon, "--epsilon"),
        lift=number_if_given(lift, "--lift"),
        anyone=anyone if anyone == TEN_TIMES else read_anyone(anyone),
        **read_value_limits(lift_of, ceiling, floor, named.values),
        **named.read_margin(margin, values),
        prior=named.prior,
        failure=failure,
        **said,
        coarsen=coarse,
        least_rows=least_rows,
        prior_cost=number_if_given(prior_cost, "--prior-cost"),
        use=use,
        keep_frequencies=False if any_frequencies else keep_frequencies,
        **read_masks(forbidden, keep_at_least, named.values),
        mechanism=chosen,
        time_limit=time_limit,
        out=target,
        overwrite=overwrite,
        order=order,
        allow_certainty=allow_certainty,
        ledger=ledger,
        dataset=dataset,
        key=key,
        same_as=same_as,
        new_people=new_people,
        outcomes=read_outcomes(outcome),
        memo=memo,
        person=person,
        changes=changes,
        dry_run=dry_run,
    )
    written: dict[str, Any] = {"table": target if pipe is None else "-", "report": page, "certificate": certificate}
    written |= {f"mechanism of {'+'.join(names)}" if len(secrets) > 1 else "mechanism": path for names, path in secrets}
    written["for the steward only"], written["settings"] = steward_report, save_config
    written = {name: path for name, path in written.items() if path is not None}
    if dry_run:
        with rows_bar() as progress:
            tried = releasing(progress=progress)
        assert tried.dry_run is not None
        files = {name: str(path) for name, path in written.items()}
        told: Any = replace(tried.dry_run, files=files)
        tell_release(replace(tried, dry_run=told), {}, as_json, everything, err=pipe is not None)
        return
    beside_table = BesideTable(opened, target, secrets, certificate)
    with rows_bar() as progress, created_like(*sources), beside_table:
        done = releasing(certified=beside_table.save, progress=progress)
    if isinstance(target, Path):
        with created_like(*sources):
            beside_table.bind(done.mechanism)
    try:
        if save_config is not None:
            saved_settings(ctx, save_config, {"mechanism": keep} if len(secrets) == 1 else {})
        if page is not None:
            done.report(page, mechanism=keep, certificate=certificate, settings=save_config or config)
        if steward_report is not None and isinstance(done, Protection):
            done.steward_report(steward_report)
    except LeakwiseError as error:
        place_of = f"released to {str(target)!r}" if pipe is None else "drawn, and was not sent"
        raise InvalidInput(f"The table was {place_of}, but its report could not be written: {error}") from error
    # What goes to a pipe was in a temporary file, of which nobody needs the name.
    tell_release(
        done if pipe is None else replace(done, table=None), written, as_json, everything, err=pipe is not None
    )
    if pipe is not None:
        pipe.send()
