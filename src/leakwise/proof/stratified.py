"""One certificate for all strata: what an outcome adds to what the other columns of its row say already."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Concatenate, ParamSpec, Protocol, overload

from leakwise.alphabet import Label, label_to_plain
from leakwise.charts.shown import Parts
from leakwise.charts.words import Notice
from leakwise.errors import CertificateRejected, InvalidInput, counted, some_of
from leakwise.exact import Level, exp_upper, float_above, log_upper
from leakwise.guarantee import SAYS_NOTHING, at_most, beyond_given, failure_at_most
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.mechanism.part_of_row import seen_with
from leakwise.priors import AllPriors, Prior, PriorByStratum
from leakwise.proof.certificate import Certificate, certify
from leakwise.proof.excess import telling_digits
from leakwise.proof.kept_limits import KeptLimit, kept_limits
from leakwise.proof.limits import NO_LIMITS, AskedLimits, asked_limits
from leakwise.proof.ratio import every_prior_ratio
from leakwise.proof.sets import is_exact
from leakwise.proof.shown import ShownCertificate
from leakwise.proof.stratum_limits import limits_in_stratum, paid_factor, prior_cost

__all__ = [
    "StratifiedCertificate",
    "also_by_stratum",
    "certify_by_stratum",
]

P = ParamSpec("P")


@dataclass(frozen=True, repr=False)
class StratifiedCertificate(ShownCertificate):
    """A proof of what the outcomes of a stratified mechanism add to the given columns of their rows.

    Attributes
    ----------
    mechanism, priors
        What the claim is about: the exact integers that a release draws from, and a prior (or a set) per stratum.
    ratios
        The largest lift of any outcome in each stratum, exact; None where it has no bound.
    limits
        What was asked for: the largest lift for anyone who knew the prior of the stratum, the largest one for any prior
        whatever, and limits of single values, which hold in every stratum where the value can occur.
    """

    mechanism: StratifiedMechanism
    priors: PriorByStratum
    ratios: Mapping[Label, Fraction | None]
    limits: AskedLimits = NO_LIMITS

    def __getitem__(self, stratum: Any) -> Certificate:
        """The certificate of one stratum."""
        known = self.priors[stratum]
        return certify(self.mechanism[stratum], known, limits_in_stratum(self.limits, known))

    def lift(self, stratum: Label) -> Fraction | None:
        """The largest lift in a stratum, what its noisy counts tell included; None when it has no bound."""
        ratio = self.ratios[stratum]
        return None if ratio is None else ratio * paid_factor(self.priors[stratum])

    @cached_property
    def cost(self) -> Fraction:
        """What was paid for noisy counts, in nats: strata are disjoint, so that no row pays more than once."""
        return max(prior_cost(self.priors[key]) for key in self.priors)

    def for_reader(self, given: Sequence[Hashable] = ()) -> Certificate | StratifiedCertificate:
        """Return the certificate for someone who sees the outcome with only these of the given columns, or with none.

        A copy of the released column without its given columns is another release: this says what it reveals, at the
        same limits. It needs a known prior in every stratum, with how frequent the stratum is.
        """
        drawn, known = seen_with(self.mechanism, self.priors, given)
        if isinstance(drawn, StratifiedMechanism):
            return certify_by_stratum(drawn, known, self.limits)
        return certify(drawn, known, self.limits)

    @property
    def asked(self) -> Level | None:
        """The largest lift that was asked for, if any."""
        return self.limits.level

    @property
    def anyone(self) -> Level | None:
        """The largest lift for any prior whatever that was asked for, if any."""
        return self.limits.anyone

    @property
    def worst(self) -> Label | None:
        """The stratum with the largest lift; None where it is that of combinations without a prior."""
        here = max(self.ratios, key=lambda key: _size(self.lift(key)))
        return None if any(_size(one) > _size(self.lift(here)) for one in self._unseen) else here

    @property
    def ratio(self) -> Fraction | None:
        """The largest lift in any stratum, those without a prior included; None when it has no bound."""
        return _largest([*map(self.lift, self.ratios), *self._unseen])

    @property
    def _rest(self) -> Mechanism | None:
        """The mechanism for every row in no stratum of the priors; of their priors nothing is known."""
        return self.mechanism.otherwise

    @cached_property
    def _unseen(self) -> list[Fraction | None]:
        """The lift of the mechanism for all other combinations, for every prior."""
        return [] if self._rest is None else [every_prior_ratio(self._rest.kernel)[0]]

    def _where(self, stratum: Label | None) -> str:
        """A stratum in words; its names and values may come from someone else's file, so they are quoted."""
        if stratum is None:
            return "a combination has no prior"
        given = self.priors.given_columns
        return ", ".join(f"{name!r} = {part!r}" for name, part in zip(given.names, given.parts(stratum), strict=True))

    @cached_property
    def every_prior(self) -> Fraction | None:
        """The largest lift of any mechanism for any prior whatever, exact; None when it has no bound."""
        paid = {id(one): Fraction(1) for one in self.mechanism.mechanisms}
        for key in self.priors:
            used = id(self.mechanism[key])
            paid[used] = max(paid[used], paid_factor(self.priors[key]))
        ratios = [(every_prior_ratio(one.kernel)[0], paid[id(one)]) for one in self.mechanism.mechanisms]
        return _largest([None if ratio is None else ratio * factor for ratio, factor in ratios])

    @property
    def epsilon_upper(self) -> float:
        """The proven ε of every stratum, rounded up; infinite when nothing is proven."""
        return math.inf if self.ratio is None else log_upper(self.ratio)

    @property
    def largest_lift(self) -> float:
        """The largest lift as a float, rounded up."""
        return math.inf if self.ratio is None else float_above(self.ratio)

    @property
    def holds(self) -> bool:
        """Whether every stratum keeps within what was asked for; when nothing was asked, whether any bound holds."""
        return self._within and self._within_for_anyone and not self._by_value

    @cached_property
    def _by_value(self) -> list[str]:
        """What is missed of the limits of single values, stratum by stratum."""
        if not (self.limits.by_value or self.limits.lip):
            return []
        found: list[tuple[Label | None, KeptLimit]] = [(key, one) for key in self.ratios for one in self[key].kept]
        if self._rest is not None:  # nothing is known there: for every prior
            anything = AllPriors(Prior.uniform(self.mechanism.inputs))
            found += [(None, one) for one in kept_limits(self._rest, anything, replace(self.limits, anyone=None))]
        return [f"Where {self._where(key)}: {one.excess}" for key, one in found if not one.kept]

    @property
    def _within(self) -> bool:
        return self.ratio is not None and (self.asked is None or self.asked.allows(self.ratio))

    @property
    def _within_for_anyone(self) -> bool:
        return self.anyone is None or (self.every_prior is not None and self.anyone.allows(self.every_prior))

    @property
    def failure(self) -> float:
        """The probability that the samples mislead in some stratum; 0 for priors taken as known."""
        return self.priors.failure

    @property
    def sentence(self) -> str:
        """The guarantee in words; it names the columns that it is relative to."""
        given = self.priors.given_columns
        if self.ratio is None:
            where = self._where(self.worst)
            return f"Where {where}, an outcome can make a guess any number of times as likely. No guarantee holds."
        if self.every_prior == 1:  # the same outcomes for every value, in every stratum
            words = SAYS_NOTHING
        else:
            anyone = None if self.anyone is None else self.every_prior
            # Names may come from someone else's file, so they are quoted.
            words = beyond_given(self.ratio, self.priors, list(map(repr, given.names)), anyone=anyone)
            words += self._from_samples
        for limit, reached, kept in (
            (self.asked, self.ratio, self._within),
            (self.anyone, self.every_prior, self._within_for_anyone),
        ):
            if limit is not None and not kept:
                words += _missed(limit, reached)
        if self.by_value:
            words += f" {self.by_value}"
        if self._by_value:
            words += f" {' '.join(self._by_value[:3])} The guarantee does not hold."
        return words

    @property
    def by_value(self) -> str:
        """The limits of single values in words; empty where there are none."""
        if not self.limits.by_value:
            return ""
        single = AskedLimits(lift_of=self.limits.lift_of, ceiling=self.limits.ceiling, floor=self.limits.floor)
        return f"In every stratum: {single.describe()}."

    @property
    def _from_samples(self) -> str:
        """What the guarantee owes to samples: sets that may miss the prior, and estimates that were taken as exact."""
        words = ""
        if self.cost:
            words += (
                " This holds for all released rows together with the mechanism and this certificate, which depend on "
                f"the table through noisy counts alone: their {at_most(self.cost)} nats, a factor of "
                f"{at_most(exp_upper(self.cost))}, are included."
            )
        if self.priors.exact_failure:
            words += (
                " The samples mislead, and the guarantee with them, with probability at most "
                f"{failure_at_most(self.priors)}."
            )
        if sizes := self._estimates:
            some = "" if len(sizes) == len(self.priors) else f" of {len(sizes):,} of {len(self.priors):,} strata"
            words += (
                f" The priors{some} are estimates from {sum(sizes):,} rows and were taken as exact and public: the "
                "mechanism tells them."
            )
        return words

    @property
    def _estimates(self) -> list[int]:
        """The sample sizes of priors that were taken as exact."""
        sizes = self.priors.sample_sizes
        return [size for key, size in sizes.items() if size and isinstance(self.priors[key], Prior)]

    # -- checking -----------------------------------------------------------------------------------------------

    def verify(self) -> StratifiedCertificate:
        """Compute every stratum again from its integers; raise CertificateRejected when the claim is not proven."""
        if set(self.ratios) != set(self.priors) or not set(self.mechanism) <= set(self.priors):
            raise CertificateRejected(
                "The certificate must make one claim for each stratum; its mechanism, priors and claims have others. "
                "Do not rely on it; certify the mechanism again."
            )
        for key in self.priors:
            found, claimed = certify(self.mechanism[key], self.priors[key]), self.ratios[key]
            agrees = found.ratio == claimed
            if not is_exact(self.priors[key]) and found.ratio is not None and claimed is not None:
                agrees = found.ratio <= claimed
            if not agrees:
                raise CertificateRejected(
                    f"Where {self._where(key)}, the certificate claims a largest lift of "
                    f"{_size(claimed):.12g}; its integers give {found.largest_lift:.12g}. Do not rely on it; certify "
                    "the mechanism again."
                )
            if found.ratio is not None:  # the failure probability of its set, too
                found.verify()
        if not self.holds:
            raise CertificateRejected(self.sentence)
        return self

    # -- files and looks ----------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate, with the mechanisms and the priors it is about."""
        from leakwise.proof.stratified_file import save_stratified_certificate

        save_stratified_certificate(self, path)

    def _shown(self) -> Parts:
        given = self.priors.given_columns
        what = f"without {given.quoted}" if len(given) == 1 else f"with only some of {given.quoted}"
        reached = f"The largest lift is reached where {self._where(self.worst)}."
        notes = [reached, Notice(f"Not covered: someone who sees the outcome {what}.")]
        if self.open_zeros:
            words = (
                f"In {counted(len(self.open_zeros), 'stratum', 'strata')} the prior gives no probability to values "
                "that the mechanism does not refuse: rows that have them are not covered. The first is "
                f"{self._where(self.open_zeros[0])}."
            )
            notes.append(Notice(words))
        return [*super()._shown(), *notes]

    @property
    def open_zeros(self) -> list[Label]:
        """The strata in which a value without probability is not declared impossible: a release would take it."""
        return [key for key in self.priors if bool((~self.priors[key].support & self.mechanism.support(key)).any())]

    def _rows(self) -> list[list[str]]:
        rows = [
            ["proven ε in every stratum (nats)", at_most(self.epsilon_upper, 6)],
            ["largest lift e^ε", at_most(self.largest_lift if self.ratio is None else self.ratio)],
            ["strata", f"{len(self.ratios):,}"],
            ["different mechanisms", f"{len(self.mechanism.mechanisms):,}"],
            ["for any prior whatever, lift", "no bound" if self.every_prior is None else at_most(self.every_prior)],
        ]
        if self.limits:
            rows.append(["asked", self.limits.describe()])
            rows.append(["holds", "yes" if self.holds else "NO"])
        if self.cost:
            rows.append(["paid for noisy counts (nats), included", at_most(self.cost)])
        if self.failure:
            rows.append(["failure probability of the priors", failure_at_most(self.priors)])
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the claim, the verdict, and the lift of each stratum."""
        return {
            "holds": self.holds,
            "epsilon_upper": self.epsilon_upper,
            "lift": self.largest_lift,
            "every_prior_lift": _size(self.every_prior),
            "asked": self.limits.describe() or None,
            "given": [str(name) for name in self.priors.given],
            "worst": None if self.worst is None else label_to_plain(self.worst),
            "failure": self.failure,
            "prior_cost": float_above(self.cost),
            "strata": [{"stratum": label_to_plain(key), "lift": _size(self.lift(key))} for key in self.ratios],
            "sentence": self.sentence,
        }


def certify_by_stratum(mechanism: StratifiedMechanism, priors: Any, limits: AskedLimits) -> StratifiedCertificate:
    """Prove what the outcomes of a stratified mechanism add to the given columns, stratum by stratum."""
    limits.refuse_in_total("a stratified mechanism: certify each stratum's by itself")
    if not isinstance(priors, PriorByStratum):
        raise InvalidInput(
            "prior must be a lw.PriorByStratum for a stratified mechanism: a prior of the secret in every stratum. Got "
            f"{type(priors).__name__} instead."
        )
    if priors.given_columns != mechanism.given_columns:
        raise InvalidInput(
            f"The mechanism is by {mechanism.given_columns.quoted}, the priors are by {priors.given_columns.quoted}: "
            "both must have the same given columns with the same domains."
        )
    if unknown := [key for key in mechanism if key not in priors]:
        raise InvalidInput(
            f"The priors must cover every stratum of the mechanism. Those of {some_of(unknown)} are missing."
        )
    ratios = {key: certify(mechanism[key], priors[key]).ratio for key in priors}
    return StratifiedCertificate(mechanism, priors, ratios, limits.on(priors.alphabet))


class Certifies(Protocol[P]):
    """A function that certifies one mechanism, and the mechanisms of all strata."""

    @overload
    def __call__(
        self, mechanism: StratifiedMechanism, prior: Any, *args: P.args, **limits: P.kwargs
    ) -> StratifiedCertificate: ...

    @overload
    def __call__(self, mechanism: Mechanism, prior: Any, *args: P.args, **limits: P.kwargs) -> Certificate: ...


def also_by_stratum(one: Callable[Concatenate[Mechanism, Any, P], Certificate]) -> Certifies[P]:
    """Return a function that certifies as the given one does, and takes stratified mechanisms as well."""

    @functools.wraps(one)
    def run(mechanism: Any, prior: Any, *args: Any, **limits: Any) -> Any:
        if isinstance(mechanism, StratifiedMechanism):
            return certify_by_stratum(mechanism, prior, asked_limits(*args, **limits))
        return one(mechanism, prior, *args, **limits)

    return run


def _size(ratio: Fraction | None) -> float:
    return math.inf if ratio is None else float_above(ratio)


def _largest(ratios: list[Fraction | None]) -> Fraction | None:
    """The largest, None where one has no bound."""
    bounded = [one for one in ratios if one is not None]
    return max(bounded) if len(bounded) == len(ratios) else None


def _missed(limit: Level, reached: Fraction | None) -> str:
    if reached is None:
        return f" That is more than asked ({limit.words}): there is no bound. The guarantee does not hold."
    digits = telling_digits(reached, limit)
    return (
        f" That is more than asked ({limit.words}): the largest lift is {at_most(reached, digits)}, the limit "
        f"{at_most(limit.above, digits)}. The guarantee does not hold."
    )
