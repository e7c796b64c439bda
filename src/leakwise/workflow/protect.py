"""A release in one call: prior, design, certificate, ledger, draw, report."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leakwise.documents import created_like
from leakwise.errors import InvalidInput, check_seconds
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.proof import NO_LIMITS
from leakwise.report import Protection, SeveralProtection
from leakwise.tables.release.paths import file_of, ledger_files, refuse_same_files
from leakwise.workflow.accuracy import as_asked, chosen_or_least
from leakwise.workflow.advice import tell_accuracy
from leakwise.workflow.arguments import (
    asked_accuracy,
    check_costs,
    check_mechanism,
    check_prior,
    check_use,
    declared_values,
    prior_in_words,
    public_prior,
)
from leakwise.workflow.choice import Request
from leakwise.workflow.columns import columns_that_go_out, given_columns, refuse_copies, refuse_labels, refuse_related
from leakwise.workflow.dry_run import ledger_words, tried
from leakwise.workflow.identity import Told
from leakwise.workflow.limits import TEN_TIMES, release_limits
from leakwise.workflow.mechanism import kept_in_reading
from leakwise.workflow.several import protect_several
from leakwise.workflow.several_arguments import SeveralRequest, as_one_secret

if TYPE_CHECKING:
    from leakwise.tables.databases.sql_table import SqlTable
    from leakwise.tables.ledger.ledger import Ledger
    from leakwise.tables.memo.key import MemoKey
    from leakwise.tables.release.file import Progress

__all__ = ["Protection", "SeveralProtection", "protect"]


def protect(
    data: Any,
    column: Any = None,
    *,
    domain: Any = None,
    epsilon: object = None,
    lift: object = None,
    anyone: object = TEN_TIMES,
    lift_of: Mapping[Any, object] | None = None,
    ceiling: Mapping[Any, object] | None = None,
    floor: Mapping[Any, object] | None = None,
    margin: Any = None,
    values: Any = None,
    prior: Any = None,
    failure: float | None = None,
    given: Any = None,
    unrelated: Any = None,
    drop: Any = None,
    coarsen: Mapping[Any, Any] | None = None,
    least_rows: int = 1000,
    prior_cost: object = None,
    use: str = "statistics",
    keep_frequencies: bool | None = None,
    forbidden: Any = None,
    keep_at_least: Any = None,
    mechanism: Mechanism | StratifiedMechanism | None = None,
    total: object = None,
    joint: bool = False,
    time_limit: float = 30.0,
    out: str | os.PathLike[str] | SqlTable | None = None,
    overwrite: bool = False,
    order: str | None = None,
    allow_certainty: bool = False,
    dry_run: bool = False,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    key: Hashable = None,
    same_as: str | None = None,
    new_people: bool = False,
    outcomes: Mapping[Any, int] | None = None,
    memo: MemoKey | str | os.PathLike[str] | None = None,
    person: Hashable = None,
    changes: int | None = None,
    certified: Callable[[Any], None] | None = None,
    progress: Progress | None = None,
    unsafe_seed: int | None = None,
) -> Protection | SeveralProtection:
    """Release a table so that seeing a row makes no guess about its secret more than ``lift`` times as likely.

    More likely, that is, than the given columns of the row make it already. The best mechanism for the prior and the
    use is designed, certified on exact integers, entered in the ledger (which may refuse it), and drawn from. All
    values are checked before anything is drawn or entered.

    Parameters
    ----------
    data
        A table or a column of any kind that :func:`leakwise.release` takes, or the path of a file.
    column
        The secret column; a tuple of columns is one joint secret. None for a bare column. A mapping from secrets to
        their lifts, ``{"diagnosis": 2, ("age", "sex"): 3}``, is several: each is drawn for by mechanisms for the given
        columns and the outcomes drawn before it, and the lifts multiply to what the whole row tells. Then ``domain``
        maps columns, ``prior`` is ``"table"``, maps secrets, or is of all of them together (over tuples), ``anyone``
        and ``margin`` may map secrets, and a :class:`leakwise.results.SeveralProtection` comes back.
    domain
        Every value that can occur, whether it does or not: a list (None in it is a missing value), or ``lw.bins`` for
        numbers and dates; for a joint secret a mapping from its columns to such domains, or a list of tuples. Left out:
        that of the prior.
    epsilon, lift
        The most that an outcome may reveal: ε in nats, or e^ε, "at most ``lift`` times as likely".
    anyone
        The same limit for anyone, whatever they knew: ten times the lift unless it is given; None switches it off.
    lift_of, ceiling, floor
        Limits of single values, as for :func:`leakwise.design`.
    margin, values
        Instead of a lift: how accurately the frequencies of all rows together, of some values, or the mean of numbers
        must be known, as for :func:`leakwise.design`. The least lift that does it is found. With several secrets, for
        those whose lift is None: one margin for all of them, or a mapping from secrets, as ``values`` is.
    prior
        What is known beforehand, from public sources: a prior, or a set of priors for all of which the guarantee then
        holds; ``"uniform"``, or ``"unknown"`` for every prior (:class:`leakwise.AllPriors`). Or ``"table"`` to
        estimate it from the table: the mechanism is designed for rounded frequencies, which are treated as public, and
        certified for every prior that the rows leave possible; ``failure`` must be given.
    failure
        With ``prior="table"``: the probability, over the rows, that the guarantee rests on a wrong prior.
    given, unrelated, drop
        What the other columns are. The guarantee holds for anyone who sees the ``given`` ones beside the outcome: no
        guess becomes more than ``lift`` times as likely as they make it already, by a mechanism for each combination of
        their values. ``unrelated`` ones go out as well and are assumed to tell nothing more about the secret; the
        guarantee says so, and a table that contradicts it is refused. Columns to ``drop`` do not go out. With
        ``prior="table"`` every other column is given unless ``given`` names some; with a public prior of the secret
        alone each must be unrelated or dropped; :class:`leakwise.AllPriors` covers all of them.
    coarsen
        A mapping from columns to ``lw.bins``: they go out in bins, which makes fewer combinations.
    least_rows
        With ``prior="table"``: combinations with fewer rows do not use frequencies of their own: two that differ in one
        column and have as many together may use theirs pooled, for others the mechanism holds for every prior.
    prior_cost
        With ``prior="table"``: nats for which the frequencies are counted with noise. Then everything that leaves
        depends on the noisy counts alone, and the limits hold for mechanism, certificate and rows together. Left out,
        the rounded frequencies are treated as public.
    use
        ``"statistics"`` (frequencies can be estimated best; outcomes are not values) or ``"reading"`` (outcomes are
        values and agree with the true one as often as possible).
    keep_frequencies
        With ``use="reading"``, where it is on by default: each outcome comes as often as its value does under the
        prior, so that the released column has the right frequencies as it stands, if the table's are those of the
        prior. (They can be read from the mechanism: with ``prior="table"`` they are the rounded ones.) False lets
        outcomes come as often as agrees best with the truth; rare values may then never come out.
    forbidden, keep_at_least
        With the frequencies kept: pairs (value, outcome) that must never occur, which needs ``anyone=None``, and the
        least probability that a value is released as it is, as a mapping from values or a number for all.
    mechanism
        A mechanism to use instead of designing one. It is refused when it exceeds ``epsilon`` or ``lift``; ``use`` and
        ``time_limit`` then have no effect.
    total
        With several secrets: the lift of all of them together, shared out for the best accuracy, each at most at its
        own lift (None: at the total).
    joint
        With several secrets: design one mechanism for all columns together, at the total, or the product of the lifts.
    time_limit
        Seconds for the design; the best mechanism found by then is used, with a warning and a proven gap.
    out, overwrite
        Where the released file goes (for a file, or for what gives its rows in Arrow: a data frame, a plan, a dataset),
        and whether it may replace another.
    order
        The order of the rows is a column that goes out with them. Left out, they keep it, and a table whose order
        reveals the secret (sorted or split by it) is refused; the rows of a view in a database are shuffled.
        ``"shuffle"`` makes all orders equally likely; ``"keep"`` makes no test, and the report says so.
    allow_certainty
        A release that can be read is refused: one of whose outcomes makes a value certain that was not, or with which
        the best guess is right for more than 99% of the rows where it was right for less than 95%; or one whose given
        columns are nearly a copy of the secret. True releases it, and the report (of a copy: a warning) says so.
    dry_run
        Do everything but the draw: nothing is written, and nothing is entered in the ledger. The result shows what the
        release would guarantee and tell, with exact figures of the table, which are for its owner. With several secrets
        what is drawn to design for later ones is thrown away.
    ledger, dataset
        A :class:`leakwise.Ledger` or its path, and the name of the data in it (the name of the file by default).
    key, same_as, new_people
        For the ledger: the column that tells people apart. The same people under another name of the data are refused
        until it is said that it is the ``same_as`` another dataset, or that they are ``new_people`` with the same keys.
    outcomes
        For the ledger: the given columns that contain outcomes of earlier releases, with the numbers of their entries.
    memo, person
        A key file (:class:`leakwise.MemoKey`) and the column of persons: draws repeat, as for
        :func:`leakwise.release`: an unchanged value, released again by the same ``mechanism``, tells nothing new.
    changes
        For the ledger: how often at most a person's value changed since the first release by this key and mechanism.
        So many further draws count, each with its limit for anyone; unchanged values add nothing.
    certified
        Called with the certificate before anything is entered or drawn, such as to save it; what it raises stops the
        release. What it saves is readable only by those who can read the file of the data.
    progress
        For files: called with the stage, the rows done and the rows there are.
    unsafe_seed
        Makes the draws repeatable, for tests only; a warning, the guarantee, the report, the ledger and the metadata
        of a released file say so.

    Examples
    --------
    >>> import leakwise as lw
    >>> table = {"smokes": ["no", "yes", "no", "no"]}
    >>> r = protect(table, "smokes", prior=lw.Prior({"no": 0.75, "yes": 0.25}), lift=2)
    >>> print(r.guarantee)
    No guess about the secret becomes more than 2 times as likely by seeing the outcome, for anyone who knew the \
prior, nor more than 20 times as likely for anyone, whatever they knew (rows independent).
    """
    check_seconds(time_limit)
    if isinstance(column, Mapping) or joint or total is not None:
        options = SeveralRequest.of({**locals(), "lifts": column})
        if not joint:
            return protect_several(data, options)
        column, lift, anyone = as_one_secret(options)
    from leakwise.tables.ledger.column_digest import Digester
    from leakwise.tables.ledger.ledger import Ledger as LedgerBook
    from leakwise.tables.ledger.reservation import Reservation
    from leakwise.tables.memo.draws import memo_of
    from leakwise.tables.release.draw import seeded_stream
    from leakwise.tables.release.file import refuse_partition
    from leakwise.tables.release.row_order import RowOrder, check_order, refuse_order
    from leakwise.tables.release.secret_columns import secret_columns, with_known_columns
    from leakwise.tables.release.sources import open_source

    started = time.perf_counter()
    data = with_known_columns(data, column)
    check_mechanism(mechanism)
    check_prior(prior, failure)
    letters = declared_values(domain, prior, mechanism, column)
    prior = prior_in_words(prior, letters)
    limits_at = partial(
        release_limits, anyone=anyone, prior=prior, mechanism=mechanism, lift_of=lift_of, ceiling=ceiling, floor=floor
    )
    accuracy = asked_accuracy(margin, values, lift if epsilon is None else epsilon, use, prior_cost)
    asked = limits_at(epsilon, lift) if accuracy is None or mechanism is not None else NO_LIMITS
    cost = check_costs(prior, least_rows, prior_cost)
    check_use(use)
    public = public_prior(prior, letters)
    files = {"data": file_of(data), "out": file_of(out)}
    account = ledger.path if isinstance(ledger, LedgerBook) else None if ledger is None else Path(ledger)
    refuse_same_files(files, ledger_files(account, "ledger"))
    check_order(order)
    source = open_source(data, out, overwrite=overwrite, progress=progress, order=order)
    secret = secret_columns(source.names, column)
    refuse_partition((data, out), secret)
    row = columns_that_go_out(
        source.names, secret, public, mechanism, given=given, unrelated=unrelated, drop=drop, coarsen=coarsen
    )
    source.drop, source.coarsen, source.closed = row.dropped, row.coarsened, True
    told = Told(person if key is None and ledger is not None else key, same_as, new_people, outcomes)
    told.check(ledger, source, row)
    source.memo = memo_of(memo, person, source.names, secret, unsafe_seed, changes)
    files["memo"] = None if source.memo is None else source.memo.key.path
    refuse_same_files({"memo": files["memo"]}, {"out": files["out"], **ledger_files(account, "ledger")})
    request = Request(
        asked=asked,
        use=use,
        keep=kept_in_reading(keep_frequencies, forbidden, keep_at_least, use, mechanism),
        mechanism=mechanism,
        letters=letters,
        public=public,
        failure=failure,
        least_rows=least_rows,
        prior_cost=cost,
        row=row,
        time_limit=time_limit,
        allow_certainty=allow_certainty,
        memo=None if source.memo is None else source.memo.told,
    )
    # A dry run makes no ledger, either.
    known = not dry_run or account is None or account.exists()
    book = ledger if isinstance(ledger, LedgerBook) else LedgerBook(ledger) if ledger is not None and known else None
    name = source.name if dataset is None else dataset
    if ledger is not None and name is None:
        raise InvalidInput("dataset must name the data for the ledger: releases of one secret add up under one name.")
    by = given_columns(source, row, public)
    unordered = secret if source.late else ()
    before = Digester(None if book is None else book.digest, letters, by, unordered=unordered)
    source.watch_given = before.add_given
    watched = RowOrder(letters.labels) if source.order is None and by is None else None
    seen = source.check(secret, letters, [before.add, *([] if watched is None else [watched.add])], by)
    refuse_labels(source, public)
    if not seen.rows:
        raise InvalidInput("data has no rows: there is nothing to release.")
    if source.memo is not None:
        source.memo.check(source.plain(person), stacklevel=2)
    if (ordered := watched or seen.order) is not None:
        refuse_order(ordered, request.title)
    refuse_related(source, row, letters)
    refuse_copies(source, row, letters, seen.strata, by, allowed=allow_certainty)
    people = told.people(book, source)
    stream = seeded_stream(unsafe_seed)
    choose = partial(as_asked, stream=stream)
    request, choice = chosen_or_least(request, accuracy, limits_at, seen, by, choose)
    advice = tell_accuracy(request, choice, by, seen.rows)
    certificate = choice.certificate
    reservation = Reservation(
        request.columns,
        certificate,
        ("estimated from the table" if isinstance(prior, str) else "given")
        + ("" if unsafe_seed is None else "; drawn from unsafe_seed, for tests only"),
        rows=seen.rows,
        source_digest=before.text(outcomes or ()),
        row=request.told_row,
        outcomes=outcomes or {},
        repeats=None if source.memo is None else source.memo.entered(secret, certificate.mechanism, changes),
    )
    if dry_run:
        return tried(
            request,
            choice,
            dataset=name,
            rows=seen.rows,
            order=source.order,
            ledger=None if ledger is None else ledger_words(book, str(name), [reservation], people),
            files=files,
            advice=advice,
            seconds=time.perf_counter() - started,
        )
    if certified is not None:
        with created_like(files["data"]):
            certified(certificate)
    entry = None
    if book is not None:
        assert name is not None
        entry = book.reserve_all(name, [reservation], people)[0]
    try:
        after = Digester(None if book is None else book.digest, certificate.mechanism.output_alphabet)
        table = source.release([certificate.mechanism], stream, [] if book is None else [after.add])
    except Exception:
        # Nobody has seen anything: what was drawn is gone with this call. (Of an interrupt that is not known, and a
        # table that was written may have been seen: the entry then stays, and counts.)
        if book is not None and entry is not None and not source.written:
            book.cancel(entry)
        raise
    if book is not None and entry is not None:
        book.confirm(entry, released_digest=after.text())
    facts = choice.facts(
        request,
        dataset=name or "a table",
        rows=seen.rows,
        ledger=None if book is None else {"entry": entry},
        released=table.name if isinstance(table, Path) else None,
        unsafe_seed=unsafe_seed is not None,
        order=source.order,
    )
    kept = {**files, **ledger_files(account, "ledger")}
    return Protection(table, certificate, choice.design, facts, entry, kept, choice.counts)
