"""A few sensible settings for the release of a table, with what each guarantees and tells; nothing is spent."""

from __future__ import annotations

import math
import os
import shlex
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, Bins, GivenColumns, as_alphabet, joined
from leakwise.charts.shown import Parts, Shown, Table
from leakwise.charts.words import Command, Notice
from leakwise.errors import InvalidInput, LeakwiseError, LeakwiseWarning, SecretInClear, check_seconds, some_of
from leakwise.exact import level
from leakwise.guarantee import at_most, percent
from leakwise.report import Protection
from leakwise.report.better_choices import Option, typed_list
from leakwise.report.steward import STEWARD
from leakwise.tables.databases.sql_table import SqlTable
from leakwise.tables.formats import is_path
from leakwise.tables.formats.remote import shown_uri
from leakwise.workflow.advice import bins_of_dates, round_bins
from leakwise.workflow.columns import MOST_VALUES
from leakwise.workflow.protect import protect
from leakwise.workflow.strata import LEAST_ROWS

__all__ = ["Advised", "Setting", "advise"]

# A column of texts with more values than this, and one of numbers with more than the second, does not go out as it is.
_MANY_TEXTS, _MANY_NUMBERS = 30, 12
# A secret of numbers with more values than this is put into bins, one of texts must be declared.
_MANY_SECRETS, _MOST_SECRETS = 40, 200


@dataclass(frozen=True)
class Setting:
    """One way to release the table.

    Attributes
    ----------
    title
        What is special about it.
    columns
        What goes out, and how.
    lift, use
        The limit, and what the outcomes are for.
    tried
        A dry run of it, with everything that it would guarantee and tell.
    """

    title: str
    columns: Option
    lift: Fraction
    use: str
    tried: Protection

    @property
    def margin(self) -> float | None:
        """The half-width of the widest 95% interval of a frequency; None where outcomes do not determine them."""
        errors = None if self.tried.dry_run is None else self.tried.dry_run.standard_errors
        return None if errors is None else 1.96 * max(errors.values())


@dataclass(frozen=True, repr=False)
class Advised(Shown):
    """Settings for a release, from the one that keeps most columns on; it contains exact figures of the table.

    Attributes
    ----------
    settings
        What can be done.
    assumed
        What was assumed, as sentences.
    start
        How the command begins for a file; for a table in memory None.
    """

    settings: Sequence[Setting]
    assumed: Sequence[str]
    start: Sequence[str] | None
    secret: str
    domain: Alphabet
    failure: float

    def command(self, setting: Setting) -> str:
        """Return the dry run of a setting as a command; for a table in memory as a call."""
        lift = str(setting.lift) if setting.lift.denominator > 1 else str(setting.lift.numerator)
        if setting.lift.denominator > 1 and Fraction(text := repr(float(setting.lift))) == setting.lift:
            lift = text
        if self.start is None:
            return self._call(setting, lift)
        domain = typed_list(self.domain.labels)
        if isinstance(self.domain, Bins):
            # After a last comma missing values have a place; in bins that coarsen a column they always have one.
            domain = f"{self.domain.typed}{',' * self.domain.missing}"
        words = [*self.start, "-c", self.secret, "--domain", domain, "--lift", lift]
        words += ["--prior-from-table", "--failure", f"{self.failure:g}", *setting.columns.arguments]
        words += ["--for", setting.use] if setting.use != "statistics" else []
        words += ["--order", "shuffle", "--dry-run"]
        return shlex.join(words)

    def _call(self, setting: Setting, lift: str) -> str:
        columns = setting.columns
        values = repr(list(self.domain.labels))
        if isinstance(self.domain, Bins):
            values = self.domain.called + ".with_missing()" * self.domain.missing
        # A float would mean its binary value; a text means what it says.
        words = {
            "domain": values,
            "lift": lift if lift.isdigit() else repr(lift),
            "prior": "'table'",
            "failure": f"{self.failure:g}",
        }
        words |= {"given": repr(list(columns.given)), "drop": repr(list(columns.drop))}
        words["coarsen"] = "{" + ", ".join(f"{key!r}: {one.called}" for key, one in columns.coarsen.items()) + "}"
        words |= {"use": repr(setting.use), "order": "'shuffle'", "dry_run": "True"}
        idle = {"[]", "{}", "'statistics'"}
        told = [f"{name}={text}" for name, text in words.items() if text not in idle]
        return f"lw.protect(table, {self.secret!r}, {', '.join(told)})"

    def _shown(self) -> Parts:
        rows = []
        for place, one in enumerate(self.settings, 1):
            dry = one.tried.dry_run
            assert dry is not None
            rare = 0.0 if dry.advice is None else dry.advice.rows / dry.advice.all_rows
            margin = "-" if one.margin is None else f"± {percent(one.margin)}"
            guesses = f"{percent(dry.guesses.before)} to {percent(dry.guesses.after)}"
            rows.append([place, one.title, at_most(one.lift), margin, guesses, percent(rare)])
        headers = ["", "setting", "lift", "margin", "guessed right", "rare rows"]
        commands = [text for place, one in enumerate(self.settings, 1) for text in (f"# {place}", self.command(one))]
        return [
            Table(headers, rows, f"Ways to release {self.secret}", align="rlrrrr"),
            "margin: how far an estimated frequency may be off (95%). guessed right: the best guess about a row, "
            "without its outcome and with it. rare rows: too few are alike to learn from; they cost accuracy.",
            *map(Command, commands),
            Notice(f"Assumed: {' '.join(self.assumed)}"),
            Notice("Nothing was drawn, written or spent. Leave --dry-run (dry_run=True) out to make a release."),
            Notice(STEWARD),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "for": STEWARD,
            "secret": self.secret,
            "assumed": list(self.assumed),
            "settings": [
                {
                    "title": one.title,
                    "lift": float(one.lift),
                    "for": one.use,
                    "command": self.command(one),
                    "guarantee": one.tried.guarantee,
                    "margin": one.margin,
                    "dry_run": None if one.tried.dry_run is None else one.tried.dry_run.to_dict(),
                }
                for one in self.settings
            ],
        }


def advise(
    data: Any,
    column: Hashable,
    *,
    domain: Any = None,
    lift: object = 2,
    drop: Sequence[Hashable] = (),
    failure: float = 1e-6,
    time_limit: float = 5.0,
    progress: Callable[[str], None] | None = None,
) -> Advised:
    """Show a few sensible ways to release a table, with the accuracy and the guarantee of each; nothing is spent.

    The table is read, and every other column goes out beside the secret at first: numbers in bins, names and other
    columns of many texts not at all. Further settings drop or coarsen more, for accuracy; are stricter; or are for
    reading. Each is tried as ``lw.protect(…, dry_run=True)`` would be.

    Parameters
    ----------
    data
        The table, of any kind that :func:`leakwise.protect` takes, or the path of a file.
    column
        The secret column.
    domain
        The values that can occur. Left out, those that do are assumed to be all; numbers of many values are put into
        bins.
    lift
        The limit that the settings start from.
    drop
        Columns that are not to go out in any setting.
    failure
        The probability that the rows mislead about the frequencies.
    time_limit
        Seconds for the design of each setting.
    progress
        Called with the name of each setting before it is tried.

    Examples
    --------
    >>> import random
    >>> draw = random.Random(1)
    >>> table = {"smokes": draw.choices(["no", "yes"], [3, 1], k=4000), "sex": draw.choices("fm", k=4000)}
    >>> found = advise(table, "smokes")
    >>> [setting.title for setting in found.settings]
    ['sex given', 'stricter', 'for reading']
    >>> print(found.command(found.settings[0]))
    lw.protect(table, 'smokes', domain=['no', 'yes'], lift=2, prior='table', failure=1e-06, given=['sex'], \
order='shuffle', dry_run=True)
    """
    from leakwise.tables.release.paths import released_path
    from leakwise.tables.release.secret_columns import secret_columns
    from leakwise.tables.release.sources import open_source

    check_seconds(time_limit)
    asked = Fraction(level(lift=lift).below)
    # A file is tried as if it were released beside itself.
    out: Any = released_path(Path(data), "leakwise.released") if is_path(data) else None
    if isinstance(data, SqlTable):
        out = SqlTable(data.database, f"{data.table}_released")
    source = open_source(data, out, overwrite=out is not None, progress=None, order="shuffle")
    if isinstance(column, tuple | list) or column is None:
        raise InvalidInput(
            f"column (--column) must name one secret column. Got {column!r} instead. Several secrets are tried "
            "together by lw.protect(data, {secret: lift, ...}, dry_run=True), or leakwise release TABLE --protect "
            "SECRET=LIFT --protect SECRET=LIFT --dry-run."
        )
    (secret,) = secret_columns(source.names, column)
    names = [name for name in source.names or () if name != secret]
    if unknown := [name for name in drop if name not in names]:
        raise InvalidInput(f"drop (--drop) names {some_of(unknown)}, which the table has not beside the secret.")
    letters, assumed = _values(source, secret, domain)
    first = _first(source, names, drop)
    if first.coarsen:
        assumed.append(f"{joined(map(str, first.coarsen))}: numbers, put into bins.")
    if hidden := [name for name in first.drop if name not in drop]:
        assumed.append(f"{joined(map(str, hidden))}: too many values to go out, so dropped.")
    assumed.append("The rounded frequencies of the table are public; rows are shuffled and independent of one another.")
    options: dict[str, Any] = {"domain": letters, "prior": "table", "failure": failure, "time_limit": time_limit}
    options |= {"order": "shuffle", "out": out, "overwrite": out is not None}
    while True:
        try:
            settings, refused = _tried(source.table, secret, first, asked, options, progress)
            break
        except SecretInClear as error:
            told = _most_telling(source, secret, letters, error.columns, first.coarsen)
            assumed.append(f"{told} tells too much about {secret}, and is dropped.")
            first = replace(
                first,
                given=tuple(name for name in first.given if name != told),
                drop=(*first.drop, told),
                coarsen={name: bins for name, bins in first.coarsen.items() if name != told},
            )
    if (rows := settings[0].tried.facts.rows) < LEAST_ROWS:
        assumed.append(
            f"Nothing can be learned from {rows:,} rows without telling of single ones: the mechanism holds for every "
            "prior. A prior from public sources (--prior) would make it more accurate."
        )
    assumed += [f"Not possible: {one}" for one in refused]
    start = ["leakwise", "release", shown_uri(os.fspath(data))] if is_path(data) else None
    if isinstance(data, SqlTable):
        start = ["leakwise", "release", data.table, "--from-sql", str(data.database)]
    return Advised(settings, assumed, start, str(secret), letters, failure)


def _tried(
    data: Any,
    secret: Hashable,
    first: Option,
    asked: Fraction,
    options: Mapping[str, Any],
    progress: Callable[[str], None] | None,
) -> tuple[list[Setting], list[str]]:
    """Try the settings from the one that keeps most columns on; return those that hold, and why others do not."""
    settings: list[Setting] = []
    refused: list[str] = []

    def add(title: str, columns: Option, limit: Fraction, use: str = "statistics") -> None:
        if progress is not None:
            progress(title)
        what: dict[str, Any] = {"given": list(columns.given), "drop": list(columns.drop)}
        what["coarsen"] = dict(columns.coarsen)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeakwiseWarning)
            try:
                tried = protect(data, secret, lift=limit, use=use, dry_run=True, **what, **options)
            except SecretInClear:
                raise
            except LeakwiseError as error:
                refused.append(f"{title}: {error}")
                return
        assert isinstance(tried, Protection)  # of one secret
        settings.append(Setting(title, columns, limit, use, tried))

    add(_title(first), first, asked)
    if not settings:
        raise InvalidInput(refused[0])
    dry = settings[0].tried.dry_run
    better = () if dry is None or dry.advice is None else dry.advice.options
    # The choice that changes least, and the one that is most accurate.
    for option in dict.fromkeys((0, len(better) - 1)) if better else ():
        add(_title(better[option]), better[option], asked)
    last = settings[-1].columns
    stricter = Fraction(round(10 * math.sqrt(asked)), 10)
    if 1 < stricter < asked:
        add("stricter", last, stricter)
    add("for reading", last, asked, "reading")
    return settings, refused


def _values(source: Any, secret: Hashable, domain: Any) -> tuple[Alphabet, list[str]]:
    """The values of the secret, and what is assumed of them."""
    if domain is not None:
        return as_alphabet(domain, name="domain"), []
    values = source.distinct(secret, MOST_VALUES)
    if not values:
        raise InvalidInput(
            f"The values of {str(secret)!r} cannot be listed: there are none, or more than {MOST_VALUES:,}. Name them: "
            "domain= (--domain)."
        )
    numbers = _numbers(values)
    bins = None if numbers is None or len(values) <= _MANY_SECRETS else round_bins(numbers)
    if bins is not None:
        found = Bins(bins.edges, missing=bool(np.isnan(numbers).any()))
        told = f"{secret} is in {len(bins.edges) - 1} bins of equal width between its least and largest values, rounded"
        return found, [f"{told}, which the release shows (say others with --domain bins:…)."]
    if len(values) > _MANY_SECRETS and (dates := bins_of_dates(values)) is not None:
        told = f"{secret} is in bins of whole days between its first and last dates"
        return dates, [f"{told}, which the release shows (say others with --domain bins:2020-01,2024-12,month)."]
    if len(values) > _MOST_SECRETS:
        raise InvalidInput(
            f"{str(secret)!r} has {len(values):,} values, more than {_MOST_SECRETS}. Group them first, or name those "
            "that can occur: domain= (--domain)."
        )
    told = f"No other values of {secret} can occur than the {len(values)} that do, and the release shows which do"
    return Alphabet(values), [f"{told} (name all that can with --domain)."]


def _first(source: Any, names: Sequence[Hashable], drop: Sequence[Hashable]) -> Option:
    """The choice that keeps as much of the other columns as can be used."""
    given, coarsen, dropped = [], {}, list(drop)
    for name in names:
        if name in drop:
            continue
        values = source.distinct(name, MOST_VALUES)
        numbers = None if values is None else _numbers(values)
        bins = None if numbers is None or len(numbers) <= _MANY_NUMBERS else round_bins(numbers)
        if bins is not None and not _identifies(numbers):
            given.append(name)
            coarsen[name] = bins
        elif values is not None and len(values) <= (_MANY_TEXTS if numbers is None else _MANY_NUMBERS):
            given.append(name)
        else:
            dropped.append(name)
    return Option(tuple(given), (), tuple(dropped), coarsen, math.nan)


def _most_telling(
    source: Any, secret: Hashable, letters: Alphabet, columns: Sequence[Hashable], coarsen: Mapping[Hashable, Bins]
) -> Hashable:
    """The column from which alone the secret is guessed right most often."""
    source.coarsen = coarsen
    source.check((secret,), letters)
    right = {}
    for name in columns:
        counts = source.tally(letters, GivenColumns({name: source.distinct(name, MOST_VALUES)}))
        right[name] = sum(max(row) for row in counts.values())
    return max(right, key=lambda name: right[name])


def _numbers(values: Sequence[Any]) -> Any:
    """The values as numbers, NaN where one is missing; None where they are not numbers."""
    if any(isinstance(one, bool) for one in values):
        return None
    try:
        return np.array([math.nan if one is None or one == "" else float(one) for one in values])
    except (TypeError, ValueError):
        return None


def _identifies(numbers: Any) -> bool:
    """Whether numbers look like those of persons: whole, many, and without large gaps."""
    whole = numbers[np.isfinite(numbers)]
    return bool(whole.size > 1000 and (whole == np.floor(whole)).all() and np.ptp(whole) < 10 * whole.size)


def _title(columns: Option) -> str:
    if not columns.given:
        return "no other columns"
    shown = joined(map(str, columns.given))
    return f"{shown} given" if len(shown) <= 24 else f"{len(columns.given)} columns given"
