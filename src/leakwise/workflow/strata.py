"""The mechanisms of a release by strata: from the counts of a table, or public priors, to one certificate for all."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from leakwise.alphabet import Alphabet, GivenColumns, Label
from leakwise.errors import InvalidInput
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.priors import AllPriors, LayerCake, Prior, PriorByStratum, PriorSet
from leakwise.priors.sample import rounded_parts
from leakwise.priors.sets.around_estimate import checked_failure
from leakwise.priors.sets.noisy import NoisyLayerCake, checked_cost, noisy_counts
from leakwise.priors.sets.rounded import RoundedLayerCake
from leakwise.proof import AskedLimits, StratifiedCertificate, certify_by_stratum
from leakwise.workflow.mechanism import Kept, drawable, refuse_broken, release_utility, spread, warn_of_nothing

if TYPE_CHECKING:
    from leakwise.optimize import Utility
    from leakwise.optimize.stratified_result import StratifiedDesign
    from leakwise.sampling import SecureStream

__all__ = ["LEAST_ROWS", "CountedStrata", "certified_by_stratum", "each_changed", "learned_priors", "paired"]

# A stratum with fewer rows never uses its own frequencies: one row would move them too far.
LEAST_ROWS = 1000


class CountedStrata(NamedTuple):
    """The rows of a table as samples, one per stratum, and how often they may mislead.

    ``counts`` maps the strata that occur to how often each value of ``letters`` does there. With a ``prior_cost``, in
    nats, everything that follows depends on them through noisy counts alone.
    """

    counts: Mapping[Label, Sequence[int]]
    letters: Alphabet
    given: GivenColumns
    secret: Hashable
    failure: object
    least_rows: int = LEAST_ROWS
    prior_cost: object = None


def certified_by_stratum(
    basis: PriorByStratum | CountedStrata,
    asked: AskedLimits,
    use: str | Utility,
    mechanism: StratifiedMechanism | Mechanism | None,
    columns: tuple[str, ...],
    time_limit: float,
    keep: Kept | None = None,
    stream: SecureStream | None = None,
) -> tuple[StratifiedDesign | None, StratifiedCertificate, StratifiedCertificate]:
    """Return the proof of the mechanisms of all strata, and the one that a receiver may see; beyond the limit, refuse.

    They differ where the priors come from the table: the receiver's rests on rounded frequencies alone, from which the
    mechanisms follow, too. Strata of fewer than ``least_rows`` rows never use their own: two that have as many together
    may use theirs, pooled; the others are not listed, and get ``otherwise``, a mechanism that holds for every prior.
    Sizes of strata are public, as the given columns are.

    With a ``prior_cost`` ε₀ two-sided geometric noise, drawn from ``stream``, is added to the counts of each listed
    stratum, and both proofs are the same one: mechanisms, certificate and whether there is a release at all depend on
    the table through the noisy counts alone. They and all released rows together then keep the limits: the mechanisms
    are designed for limit/e^ε₀ (the mathematics, section 8).
    """
    found: StratifiedDesign | None = None
    table: _Table | None = None
    if isinstance(basis, PriorByStratum):
        given = None if mechanism is None else _stratified(mechanism, basis.given_columns, list(basis), basis.secret)
        public = basis
    else:
        table = _Table(basis, stream)
        given = None if mechanism is None else table.stratified(mechanism)
        public = table.public(given)
    if given is None:
        utility = release_utility(use, len(public.labels), keep)
        if table is None:
            from leakwise.optimize import design

            found = design(public, asked, utility=utility, time_limit=time_limit)
        else:
            from leakwise.optimize.by_stratum import design_with_rest

            found = design_with_rest(public, asked, utility, time_limit, table.rest)
        public, given = found.certificate.priors, found.mechanism
    drawn = each_changed(given, lambda one: drawable(spread(one, columns) if found is not None else one))
    shown = certify_by_stratum(drawn, public, asked) if found is None or drawn != given else found.certificate
    # Whether a release is made is seen, too: the rounded frequencies decide it.
    exact = None if table is None or table.cost else table.known(public)
    certificate = shown if exact is None else certify_by_stratum(drawn, exact, asked)
    refuse_broken(certificate, shown)
    if certificate.every_prior == 1 and len(public.labels) > 1:
        warn_of_nothing()
    return found, certificate, shown


def learned_priors(basis: CountedStrata) -> tuple[PriorByStratum, PriorByStratum]:
    """Return the sets of priors by stratum that a table leaves possible: as a receiver may see them, and exact."""
    table = _Table(basis, None)
    public = table.public(None)
    return public, table.known(public)


class _Table:
    """The strata of a table: those that are large enough to be learned from, and the others."""

    def __init__(self, basis: CountedStrata, stream: SecureStream | None) -> None:
        self.basis, self.sizes = basis, {key: sum(row) for key, row in basis.counts.items()}
        self.total = sum(self.sizes.values())
        if not self.total:
            raise InvalidInput("data has no rows: there is nothing to release.")
        least = basis.least_rows
        if isinstance(least, bool) or not isinstance(least, int) or least < 1:
            raise InvalidInput(f"least_rows must be a whole number of rows, at least 1. Got {least!r} instead.")
        self.cost = None if basis.prior_cost is None else checked_cost(basis.prior_cost)
        self.large = [key for key, size in self.sizes.items() if size >= least]
        self.pairs = {} if self.cost else paired(basis.given, self.sizes, least)
        # Each stratum that uses its own frequencies, or those of a pair, may mislead.
        self.share = checked_failure(basis.failure) / max(len(self.large) + len(self.pairs), 1)
        self._stream = stream

    @cached_property
    def listed(self) -> list[Label]:
        """The strata that a mechanism lists: those that use their own frequencies, or else the largest of all."""
        return [*self.large, *self.pairs] or [max(self.sizes, key=self.sizes.__getitem__)]

    @property
    def rest(self) -> tuple[int, Fraction]:
        """How many strata are not listed, and their share of the rows."""
        inside = sum(self.sizes[key] for key in self.listed)
        return len(self.sizes) - len(self.listed), Fraction(self.total - inside, self.total)

    @cached_property
    def _sets(self) -> dict[Label, PriorSet]:
        """The set of priors of each large stratum that may be shown: of rounded frequencies, or of noisy counts."""
        if self.cost is None:
            alone = {key: RoundedLayerCake(self.sample(key), self.share) for key in self.large}
            return {**alone, **{key: self._merged(key, other) for key, other in self.pairs.items()}}
        noisy = noisy_counts([self.basis.counts[key] for key in self.large], self.cost, self._stream)
        return {
            key: NoisyLayerCake(self.basis.letters, counts, self.sizes[key], self.cost, self.share)
            for key, counts in zip(self.large, noisy, strict=True)
        }

    def _merged(self, key: Label, other: Label) -> RoundedLayerCake:
        """The set of a small stratum, from the rounded frequencies of it and another one together."""
        pooled = [sum(pair) for pair in zip(self.basis.counts[key], self.basis.counts[other], strict=True)]
        own, rows = self.sizes[key], self.sizes[key] + self.sizes[other]
        return RoundedLayerCake.of_parts(self.basis.letters, rounded_parts(pooled), rows, self.share, own)

    def sample(self, key: Label) -> Prior:
        return Prior.from_integers(self.basis.letters, list(self.basis.counts[key]), self.sizes[key])

    def stratified(self, mechanism: StratifiedMechanism | Mechanism) -> StratifiedMechanism:
        """Return a mechanism that is given as one by strata."""
        basis = self.basis
        return _stratified(mechanism, basis.given, self.listed, basis.secret, rest=self.rest[0] > 0)

    def public(self, mechanism: StratifiedMechanism | None) -> PriorByStratum:
        """The sets of priors that the rounded frequencies leave possible; any prior where they are not used."""
        strata = self.listed if mechanism is None else list(dict.fromkeys([*self._declared(mechanism), *mechanism]))
        anything = AllPriors(Prior.uniform(self.basis.letters))
        sets = {key: self._sets.get(key, anything) for key in strata}
        given = self.basis.given if mechanism is None else mechanism.given_columns
        # A stratum of a given mechanism that the table does not have weighs next to nothing.
        weights = {key: max(self.sizes.get(key, 0), Fraction(1, 2)) for key in strata}
        return PriorByStratum(
            sets, dict(zip(given.names, given.domains, strict=True)), weights, secret=self.basis.secret
        )

    def _declared(self, mechanism: StratifiedMechanism) -> list[Label]:
        """The large strata that a mechanism knows; rows of the others are its ``otherwise``, or refused."""
        domains = mechanism.given_columns.domains
        known = [*self.large, *self.pairs]
        parts = {key: key if len(domains) > 1 and isinstance(key, tuple) else (key,) for key in known}
        return [
            key
            for key in known
            if all(part in domain.index for part, domain in zip(parts[key], domains, strict=True))
            and (key in mechanism or mechanism.otherwise is not None)
        ]

    def known(self, public: PriorByStratum) -> PriorByStratum:
        """The same sets for the exact counts: what the steward knows."""
        sets: dict[Label, PriorSet] = {
            key: LayerCake(self.sample(key), self.share) if isinstance(public[key], RoundedLayerCake) else public[key]
            for key in public
        }
        return public.replaced(sets)


def paired(given: GivenColumns, sizes: Mapping[Label, int], least: int) -> dict[Label, Label]:
    """Return pairs of small strata with enough rows together that differ in one given column, each with its partner.

    Who is paired with whom follows from the given columns and the sizes alone, which are public. A stratum of less than
    half of the rows would learn nothing: all rows of its partner that have other letters may be its own.

    >>> given = GivenColumns({"sex": ["f", "m"], "job": ["x", "y", "z"]})
    >>> sizes = {("f", "x"): 700, ("f", "y"): 600, ("f", "z"): 90, ("m", "x"): 800, ("m", "y"): 4000}
    >>> paired(given, sizes, 1000)
    {('f', 'x'): ('f', 'y'), ('f', 'y'): ('f', 'x')}
    """
    if len(given) < 2:
        return {}
    middle = {key: given.parts(key) for key, size in sizes.items() if least <= 2 * size < 2 * least}
    found: dict[Label, Label] = {}
    # First those that differ in the column with the most values.
    for place in sorted(range(len(given)), key=lambda place: -len(given.domains[place])):
        alike: dict[tuple[Label, ...], list[Label]] = {}
        for key, parts in middle.items():
            if key not in found:
                alike.setdefault(parts[:place] + parts[place + 1 :], []).append(key)
        for keys in alike.values():
            falling = sorted(keys, key=lambda key: -sizes[key])
            for one, other in zip(falling[::2], falling[1::2], strict=False):
                found[one], found[other] = other, one
    return found


def _stratified(
    mechanism: StratifiedMechanism | Mechanism,
    given: GivenColumns,
    strata: list[Label],
    secret: Hashable,
    *,
    rest: bool = False,
) -> StratifiedMechanism:
    """Return a mechanism that is given as one by strata: a plain one is that of every stratum."""
    if isinstance(mechanism, Mechanism):
        otherwise = mechanism if rest else None
        return StratifiedMechanism(dict.fromkeys(strata, mechanism), given, secret=secret, otherwise=otherwise)
    if mechanism.given != given.names:
        raise InvalidInput(
            f"The mechanism is by {mechanism.given_columns.quoted}, the table is to be released with {given.quoted}: "
            "both must have the same given columns in one order."
        )
    return mechanism


def each_changed(mechanism: StratifiedMechanism, change: Any) -> StratifiedMechanism:
    """Return the same with every mechanism changed, each once."""
    changed = {id(one): change(one) for one in mechanism.mechanisms}
    if all(changed[id(one)] is one for one in mechanism.mechanisms):
        return mechanism
    rest = mechanism.otherwise
    return StratifiedMechanism(
        {key: changed[id(mechanism[key])] for key in mechanism},
        mechanism.given_columns,
        secret=mechanism.secret,
        impossible={key: mechanism.impossible(key) for key in mechanism},
        otherwise=None if rest is None else changed[id(rest)],
    )
