"""Several secrets of a row in one call: each is drawn for beside the outcomes of those before, in one account."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leakwise.alphabet import GivenColumns
from leakwise.documents import created_like
from leakwise.errors import InvalidInput
from leakwise.exact import Level
from leakwise.priors import Prior, PriorByStratum, PriorSet
from leakwise.proof import LIFTS, SecretPart, SeveralCertificate, certify, roundings, shares_of_a_total
from leakwise.report.several import SeveralFacts, SeveralProtection
from leakwise.tables.release.checking import CheckedSecret, StrataCounts
from leakwise.tables.release.draw import seeded_stream
from leakwise.tables.release.file import refuse_partition
from leakwise.tables.release.paths import file_of
from leakwise.tables.release.row_order import RowOrder, check_order, refuse_order
from leakwise.tables.release.secret_columns import with_known_columns
from leakwise.tables.release.sources import Checked, Source, open_source
from leakwise.tables.row_columns import RowColumns
from leakwise.workflow.accuracy import Choose, as_asked, chosen_or_least
from leakwise.workflow.advice import tell_accuracy
from leakwise.workflow.arguments import check_costs, check_prior, check_use
from leakwise.workflow.beside_outcomes import JointPriors, given_outcomes, implied, margin_of
from leakwise.workflow.choice import Choice, Request
from leakwise.workflow.choice_for_set import choice_for_set
from leakwise.workflow.columns import columns_that_go_out, given_columns, refuse_copies, refuse_labels, refuse_related
from leakwise.workflow.dry_run import ledger_words, tried_several
from leakwise.workflow.identity import Told
from leakwise.workflow.mechanism import Kept, kept_in_reading
from leakwise.workflow.several_account import Account
from leakwise.workflow.several_advice import advice_on_secrets
from leakwise.workflow.several_arguments import Named, PriorOfAll, SeveralRequest, prior_for_columns, read_secrets
from leakwise.workflow.several_lifts import refuse_unmet, shared_out
from leakwise.workflow.strata import CountedStrata, learned_priors, paired

if TYPE_CHECKING:
    from leakwise.sampling import SecureStream

__all__ = ["protect_several"]

# Combinations of given columns and earlier outcomes up to which each has a mechanism of its own.
_MOST_STRATA = 1000
# Numbers of a joint prior that are computed with.
_MOST_CELLS = 1_000_000


@dataclass(frozen=True)
class _Drawn:
    """A secret with what it was drawn by: the proof, the one that the receiver may see, and what was known alone."""

    named: Named
    request: Request
    choice: Choice
    part: SecretPart
    shown: SecretPart


def protect_several(data: Any, asked: SeveralRequest) -> SeveralProtection:
    """Release several secrets: every mechanism is by the given columns and the outcomes drawn before it.

    Nothing is shown before all were drawn for. Where anything fails, and in a dry run, everything that was drawn is
    thrown away.
    """
    started = time.perf_counter()
    data = with_known_columns(data, *asked.lifts)
    _check(asked)
    files = {"data": file_of(data), "out": file_of(asked.out)}
    account = Account.of(asked.ledger, files, dry_run=asked.dry_run)
    source = open_source(data, asked.out, overwrite=asked.overwrite, progress=asked.progress, order=asked.order)
    secrets, joint = read_secrets(source.names, asked)
    every = tuple(name for one in secrets for name in one.names)
    refuse_partition((data, asked.out), every)
    public = prior_for_columns(secrets, joint)
    said = {"given": asked.given, "unrelated": asked.unrelated, "drop": asked.drop, "coarsen": asked.coarsen}
    row = columns_that_go_out(source.names, every, public, None, **said)
    source.drop, source.coarsen, source.closed = row.dropped, row.coarsened, True
    account.name(asked.dataset, source.name)
    told_data = Told(asked.key, asked.same_as, asked.new_people)
    told_data.check(asked.ledger, source, row)
    by = given_columns(source, row, public)
    seen = _checked(source, secrets, row, by, account, allowed=asked.allow_certainty)
    refuse_labels(source, public)
    stream = seeded_stream(asked.unsafe_seed)
    refuse_unmet(secrets, joint, seen)
    split = None if asked.most is None else shared_out(asked, asked.most, secrets, joint, seen)
    if split is not None:
        secrets = [one.with_lift(split.lifts[one.key]) for one in secrets]
    steps = _Steps(asked, source, row, by, joint, secrets, seen)
    for place in range(len(secrets)):
        steps.draw(place, stream)
    certificate, shown = steps.certificates()
    certificate.verify()
    # What would do better is told to the owner of the table, and stands in no report. Nothing has gone out yet.
    advice = advice_on_secrets(source.table, secrets, joint, by, certificate, seen[0].rows)
    if asked.certified is not None and not asked.dry_run:
        with created_like(files["data"]):
            asked.certified(certificate)
    origin = "estimated from the table" if isinstance(asked.prior, str) else "given"
    told_rows = [one.request.told_row for one in steps.drawn]
    releases = account.releases(certificate, origin, asked.unsafe_seed, told_rows, seen[0].rows)
    people = told_data.people(account.book, source)
    table = dry = None
    if asked.dry_run:
        choices = {one.named.title: one.choice for one in steps.drawn}
        words = ledger_words(account.book, str(account.dataset), releases, people) if account.files else None
        dry = tried_several(choices, ledger=words, files=files, seconds=time.perf_counter() - started)
    else:
        account.reserve(releases, people)
        with account.made(certificate, source) as after:
            table = source.release([part.mechanism for part in certificate.parts], stream, after)
    written = files["out"] if asked.dry_run else table
    told = {
        "dataset": account.dataset or "a table",
        "rows": seen[0].rows,
        "ledger": {"entry": list(account.entries)} if account.entries else None,
        "released": written.name if isinstance(written, Path) else None,
        "unsafe_seed": asked.unsafe_seed is not None,
        "order": source.order,
    }
    parts = tuple(one.choice.facts(one.request, **told) for one in steps.drawn)
    facts = SeveralFacts.of(parts, shown, row if row.beside or row.dropped else None)
    designs = {one.named.title: one.choice.design for one in steps.drawn}
    counts = {one.named.title: one.choice.counts for one in steps.drawn}
    kept = {**files, **account.files}
    return SeveralProtection(table, certificate, designs, facts, account.entries, kept, counts, split, advice, dry)


def _check(asked: SeveralRequest) -> None:
    """Refuse arguments that contradict each other, before anything is read."""
    if asked.prior is None or isinstance(asked.prior, str):
        check_prior(asked.prior, asked.failure)
    elif asked.failure is not None:
        raise InvalidInput("failure (--failure) goes with prior='table': priors that are given are taken as known.")
    check_costs(asked.prior, asked.least_rows, None)
    check_use(asked.use)
    check_order(asked.order)


def _checked(
    source: Source,
    secrets: Sequence[Named],
    row: RowColumns,
    by: GivenColumns | None,
    account: Account,
    *,
    allowed: bool,
) -> list[Checked]:
    """Read every secret whole, and refuse what can be refused before anything is drawn."""
    found = []
    for one in secrets:
        watched = RowOrder(one.letters.labels) if source.order is None and by is None else None
        before = account.before(one.letters, by, one.names if source.late else ())
        source.watch_given = before.add_given
        watch = [before.add, *([] if watched is None else [watched.add])]
        seen = source.check(one.names, one.letters, watch, by)
        if not seen.rows:
            raise InvalidInput("data has no rows: there is nothing to release.")
        if (ordered := watched or seen.order) is not None:
            refuse_order(ordered, " and ".join(map(repr, one.names)))
        own = replace(row, secret=one.names)
        refuse_related(source, own, one.letters)
        refuse_copies(source, own, one.letters, seen.strata, by, allowed=allowed)
        found.append(seen)
    return found


class _Steps:
    """Designs, proves and draws for one secret after the other."""

    def __init__(
        self,
        asked: SeveralRequest,
        source: Source,
        row: RowColumns,
        by: GivenColumns | None,
        joint: PriorOfAll | None,
        secrets: Sequence[Named],
        seen: Sequence[Checked],
    ) -> None:
        self._asked, self._source, self._row, self._by = asked, source, row, by
        self._secrets, self._seen, self._joint = secrets, seen, joint
        self._law = None if joint is None else JointPriors(joint, [(one.names, one.letters) for one in secrets])
        self.drawn: list[_Drawn] = []

    # -- what was drawn so far ----------------------------------------------------------------------------------

    @property
    def _lift(self) -> Fraction:
        """What the outcomes so far may make of any guess."""
        return _certificate([one.shown for one in self.drawn]).ratio or Fraction(1)

    @property
    def _anyone(self) -> Fraction | None:
        return _certificate([one.shown for one in self.drawn]).every_prior

    def _beside(self) -> GivenColumns | None:
        """The given columns, and those of the outcomes so far."""
        outcomes = given_outcomes([(one.named.names, one.choice.certificate.mechanism) for one in self.drawn])
        given = {} if self._by is None else dict(zip(self._by.names, self._by.domains, strict=True))
        return GivenColumns({**given, **outcomes}) if given or outcomes else None

    # -- one secret ---------------------------------------------------------------------------------------------

    def draw(self, place: int, stream: SecureStream | None) -> None:
        """Choose the mechanism of a secret, and draw for it."""
        one = self._secrets[place]
        if self._joint is not None:
            done = self._from_joint(place)
        elif isinstance(one.public, str):
            done = self._from_table(place)
        else:
            assert one.public is not None
            done = self._from_public(place, one.public)
        self._source.draw(done.choice.certificate.mechanism, stream)
        if self._law is not None and not self._source.late:
            self._law.draw(done.choice.certificate.mechanism)
        self.drawn.append(done)

    def _from_public(self, place: int, alone: PriorSet | PriorByStratum) -> _Drawn:
        """What is known of the secrets one by one: later ones hold for all that earlier outcomes can make of it."""
        now = implied(alone, self._lift, self._anyone) if place else alone
        request, choice = self._chosen(place, self._request(place, now, self._by), self._by, choice_for_set)
        before = alone if place and now is not alone else None
        return self._done(place, request, choice, before, before)

    def _from_joint(self, place: int) -> _Drawn:
        assert self._law is not None
        assert self._joint is not None
        if place and (self._source.late or self._law.strata > _MOST_STRATA or self._law.cells > _MOST_CELLS):
            named = [(one.names, one.letters) for one in self._secrets]
            return self._from_public(place, margin_of(self._joint, named, place))
        public = self._law.prior()
        by = public.given_columns if isinstance(public, PriorByStratum) else None
        seen = None if by is None else self._tallied(place, by)
        return self._done(place, *self._chosen(place, self._request(place, public, by), by, seen=seen))

    def _from_table(self, place: int) -> _Drawn:
        if place and self._source.late:
            return self._implied_by_table(place)
        by = self._beside()
        seen = self._seen[place] if by is None or not place else self._tallied(place, by)
        if place and by is not None and seen.strata is not None and self._too_many(by, seen.strata):
            return self._implied_by_table(place)
        # Which mechanism the earlier outcomes were drawn by, the rows chose: of so many each has its share.
        share = self._share / _certificate([one.part for one in self.drawn]).choices
        request, choice = self._chosen(place, replace(self._request(place, "table", by), failure=share), by, seen=seen)
        if not place:
            tell_accuracy(request, choice, by, seen.rows)
        return self._done(place, request, choice)

    def _too_many(self, by: GivenColumns, strata: StrataCounts) -> bool:
        """Whether combinations with outcomes are too many, or most rows are in some too small to learn from.

        Their sizes are public: the released table shows them.
        """
        sizes = {key: sum(row) for key, row in strata.items()}
        least = self._asked.least_rows
        pairs = paired(by, sizes, least)
        small = sum(size for key, size in sizes.items() if size < least and key not in pairs)
        return len(sizes) > _MOST_STRATA or 2 * small > sum(sizes.values())

    def _implied_by_table(self, place: int) -> _Drawn:
        """Too many combinations with outcomes: what the table says beside the given columns alone, made wider."""
        one, seen = self._secrets[place], self._seen[place]
        public: PriorSet | PriorByStratum
        known: PriorSet | PriorByStratum
        if self._by is not None and seen.strata:
            counted = CountedStrata(seen.strata, one.letters, self._by, one.title, self._share, self._asked.least_rows)
            public, known = learned_priors(counted)
        else:
            sample = Prior.from_integers(one.letters, seen.counts.tolist(), seen.rows)
            public, known = (sample.confidence(self._share, f"{kind}layer-cake") for kind in ("rounded-", ""))
        request = replace(self._request(place, implied(public, self._lift, self._anyone), self._by), learned=True)
        request, choice = self._chosen(place, request, self._by, choice_for_set)
        exact = implied(known, self._lift, self._anyone)
        proof = certify(choice.certificate.mechanism, exact, request.asked)
        return self._done(place, request, replace(choice, certificate=proof), known, public)

    def _chosen(
        self,
        place: int,
        request: Request,
        by: GivenColumns | None,
        choose: Choose = as_asked,
        seen: Checked | None = None,
    ) -> tuple[Request, Choice]:
        """The mechanism within the limits of a secret, or at the least lift that meets its margins."""
        one, rows = self._secrets[place], self._seen[place] if seen is None else seen
        few = isinstance(self._asked.prior, str)
        return chosen_or_least(request, one.accuracy, one.limits_at, rows, by, choose, few_digits=few)

    @property
    def _share(self) -> Fraction:
        """The failure probability of each secret."""
        return Fraction(self._asked.failure or 0) / len(self._secrets)

    def _tallied(self, place: int, by: GivenColumns) -> CheckedSecret:
        """A secret that was checked, counted by other strata than it was checked with."""
        seen = self._seen[place]
        counts = self._source.tally(self._secrets[place].letters, by, place)
        return CheckedSecret((), seen.rows, seen.counts, counts, None)

    def _request(self, place: int, public: PriorSet | PriorByStratum | str, by: GivenColumns | None) -> Request:
        asked, one = self._asked, self._secrets[place]
        given: tuple[Hashable, ...] = self._row.given if by is None else by.names
        return Request(
            asked=one.asked,
            use=asked.use,
            keep=self._keep(),
            mechanism=None,
            letters=one.letters,
            public=public,
            failure=None,
            least_rows=asked.least_rows,
            prior_cost=None,
            row=replace(self._row, secret=one.names, given=given),
            time_limit=asked.time_limit / len(self._secrets),
            allow_certainty=asked.allow_certainty,
        )

    def _keep(self) -> Kept | None:
        return kept_in_reading(self._asked.keep_frequencies, None, None, self._asked.use, None)

    def _done(self, place: int, request: Request, choice: Choice, alone: Any = None, public: Any = None) -> _Drawn:
        one = self._secrets[place]
        possible = self._possible(place, choice) if isinstance(self._asked.prior, str) else 1
        told = SecretPart(one.names, choice.certificate, alone, possible, one.accuracy is not None)
        return _Drawn(one, request, choice, told, replace(told, certificate=choice.shown, alone=public))

    def _possible(self, place: int, choice: Choice) -> int:
        """How many mechanisms the rows could have chosen for a row: by the sizes of the strata alone, which are public.

        Two strata whose rows are rounded together are both smaller than ``least_rows``.
        """
        largest = max(sum(row) for row in choice.counts.values())
        found = roundings(max(largest, 2 * self._asked.least_rows), len(self._secrets[place].letters))
        if not place and self._asked.most is not None:
            found *= shares_of_a_total(len(one.letters) for one in self._secrets)
        return found if self._secrets[place].accuracy is None else found * LIFTS

    def certificates(self) -> tuple[SeveralCertificate, SeveralCertificate]:
        """Return the proof of all secrets, and the one that the receiver may see."""
        found = []
        for parts in ([one.part for one in self.drawn], [one.shown for one in self.drawn]):
            linked = _certificate(parts, self._asked.most, self._joint)
            found.append(linked if linked.checks_joint else replace(linked, joint=None))
        return found[0], found[1]


def _certificate(
    parts: Sequence[SecretPart], total: Level | None = None, joint: PriorOfAll | None = None
) -> SeveralCertificate:
    return SeveralCertificate(tuple(parts), total, joint)
