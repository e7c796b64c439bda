"""The certificate of several secrets of a row: one proof for each, linked, and what all of them tell together."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from leakwise.alphabet import joined, label_to_plain
from leakwise.errors import CertificateRejected
from leakwise.exact import Level, float_above, log_upper
from leakwise.guarantee import at_most
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.priors import AllPriors, Prior, PriorByStratum
from leakwise.proof.certificate import Certificate
from leakwise.proof.several.links import (
    check_implied,
    check_possible,
    columns_in_words,
    failure_of,
    follows,
    given_of,
    sets_of,
    shares_of_a_total,
    uncovered,
)
from leakwise.proof.several.part import SecretPart
from leakwise.proof.several.row_law import MOST_CELLS, RowLaw
from leakwise.proof.several.words import row_guarantee
from leakwise.proof.shown import ShownCertificate
from leakwise.proof.stratified import StratifiedCertificate
from leakwise.proof.stratum_limits import prior_cost
from leakwise.proof.tails import check_failure

__all__ = ["SeveralCertificate"]


@dataclass(frozen=True, repr=False)
class SeveralCertificate(ShownCertificate):
    """A proof of what the outcomes of several secrets tell about a row, one after the other and all together.

    Attributes
    ----------
    parts
        The secrets in the order in which they are drawn for.
    total
        The largest lift of all together that was asked for, if any.
    joint
        The prior of all secrets together, where it is public and known: the priors of the parts follow from it.
    """

    parts: tuple[SecretPart, ...]
    total: Level | None = None
    joint: Prior | PriorByStratum | None = None

    def __getitem__(self, secret: Any) -> Certificate | StratifiedCertificate:
        """The certificate of one secret: a column, or a tuple of columns."""
        names = tuple(secret) if isinstance(secret, (tuple, list)) else (secret,)
        return next(part.certificate for part in self.parts if part.names == names)

    @property
    def mechanism(self) -> dict[Any, Mechanism | StratifiedMechanism]:
        """The mechanism of each secret, as :func:`leakwise.estimate` and :func:`leakwise.release` take them."""
        return {part.names[0] if len(part.names) == 1 else part.names: part.mechanism for part in self.parts}

    @property
    def given(self) -> tuple[Hashable, ...]:
        """The columns that the guarantee is relative to, outcomes of other secrets left out."""
        drawn = {name for part in self.parts for name in part.names}
        found = dict.fromkeys(name for part in self.parts for name in given_of(part.known) if name not in drawn)
        return tuple(found)

    @cached_property
    def ratio(self) -> Fraction | None:
        """The largest lift of all outcomes together: the product of the parts; None when it has no bound."""
        return _product([part.certificate.ratio for part in self.parts])

    @cached_property
    def every_prior(self) -> Fraction | None:
        """The same for any prior whatever."""
        return _product([part.anyone for part in self.parts])

    @cached_property
    def _law(self) -> RowLaw | None:
        if self.joint is None:
            return None
        law = RowLaw(self.joint, [(part.names, part.mechanism) for part in self.parts])
        return law if law.size <= MOST_CELLS else None

    @property
    def checks_joint(self) -> bool:
        """Whether what follows from the joint prior can be gone through."""
        return self._law is not None

    @cached_property
    def exact(self) -> Mapping[tuple[int, ...], Fraction]:
        """The largest lifts on a joint prior, exact, of each secret, each two and the whole row, by their places.

        Nothing where the prior is not known, or has too many rows and outcomes to go through all of them.
        """
        if self._law is None:
            return {}
        places = range(len(self.parts))
        some: dict[tuple[int, ...], None] = {(place,): None for place in places}
        some |= dict.fromkeys(itertools.combinations(places, 2)) | {tuple(places): None}
        return dict(zip(some, self._law.largest_lifts(list(some)), strict=True))

    @property
    def whole(self) -> Fraction | None:
        """The largest lift of all outcomes together that is proven: exact on a joint prior, or the product."""
        return self.exact.get(tuple(range(len(self.parts))), self.ratio)

    @property
    def epsilon_upper(self) -> float:
        """The proven ε of all outcomes together, rounded up; infinite when nothing is proven."""
        return math.inf if self.whole is None else log_upper(self.whole)

    @property
    def largest_lift(self) -> float:
        """The largest lift of all outcomes together as a float, rounded up."""
        return math.inf if self.whole is None else float_above(self.whole)

    @cached_property
    def failures(self) -> tuple[Fraction, ...]:
        """The probability that a sample misleads about each secret, exact.

        Frequencies beside outcomes are counted with one of many mechanisms, which the same rows chose: each counts.
        """
        found, chosen = list[Fraction](), 1
        for part in self.parts:
            found.append(failure_of(part.before) * (chosen if part.alone is None else 1))
            chosen *= part.possible
        return tuple(found)

    @property
    def exact_failure(self) -> Fraction:
        """The probability that a sample misleads about some secret, exact."""
        return sum(self.failures, Fraction(0))

    @property
    def choices(self) -> int:
        """How many mechanisms a row can have been drawn by, that rows chose; 1 where no prior comes from a table."""
        return math.prod(part.possible for part in self.parts)

    @property
    def failure(self) -> float:
        """The probability that a sample misleads about some secret, rounded up."""
        return float_above(self.exact_failure)

    @property
    def holds(self) -> bool:
        """Whether every secret keeps its limits, and all together the total that was asked for."""
        return self.ratio is not None and all(part.certificate.holds for part in self.parts) and self._within

    @property
    def _within(self) -> bool:
        return self.total is None or (self.whole is not None and self.total.allows(self.whole))

    @property
    def who(self) -> str:
        """For whom the guarantee holds."""
        kinds = [one for part in self.parts for one in sets_of(part.before)]
        if all(isinstance(one, AllPriors) for one in kinds):
            return "for anyone, whatever they knew"
        knew = "" if self.exact_failure else " and knew the priors"
        return f"for anyone who sees the row{knew}"

    @property
    def limited(self) -> bool:
        """Whether every secret was asked to keep a limit for anyone."""
        return all(
            part.certificate.limits.anyone is not None or all(isinstance(one, AllPriors) for one in sets_of(part.known))
            for part in self.parts
        )

    @property
    def sentence(self) -> str:
        """The guarantee in words."""
        if self.ratio is None:
            part = next(part for part in self.parts if part.certificate.ratio is None)
            return f"Of {part.title}: {part.certificate.sentence}"
        words = row_guarantee(
            # Names may come from someone else's file, so they are quoted.
            [joined(map(repr, part.names)) for part in self.parts],
            [part.certificate.ratio or Fraction(1) for part in self.parts],
            given=list(map(repr, self.given)),
            anyone=self.every_prior if self.limited else None,
            who=self.who,
            exact=self.exact.get(tuple(range(len(self.parts)))),
        )
        if self.exact_failure:
            words += (
                " The samples mislead, and the guarantee with them, with probability at most "
                f"{at_most(self.exact_failure)}."
            )
        for part in self.parts:
            if not part.certificate.holds:
                words += f" Of {part.title}: {part.certificate.sentence}"
        if not self._within and self.total is not None:
            words += (
                f" All together that is more than asked (total {self.total.words}): the largest lift is "
                f"{at_most(self.largest_lift)}. The guarantee does not hold."
            )
        return words

    # -- checking -----------------------------------------------------------------------------------------------

    def verify(self) -> SeveralCertificate:
        """Compute every part again, and how they are linked; raise CertificateRejected when the claim is not proven."""
        names = [name for part in self.parts for name in part.names]
        if not names or len(set(names)) < len(names):
            raise CertificateRejected(
                "The certificate must be about at least one column, each once. Do not rely on it."
            )
        lift, anyone = Fraction(1), Fraction(1)
        limit: Fraction | None = anyone
        for place, part in enumerate(self.parts):
            if any(prior_cost(one) for one in sets_of(part.known)):
                raise CertificateRejected("Noisy counts are not part of a proof about several secrets.")
            part.certificate.verify()
            self._check_possible(place)
            self._check_link(place, lift, limit)
            ratio, own = part.certificate.ratio, part.anyone
            assert ratio is not None  # it was verified
            lift *= ratio
            limit = None if limit is None or own is None else limit * own
        if self.joint is not None:
            self._check_joint()
        if not self.holds:
            raise CertificateRejected(self.sentence)
        return self

    def _check_possible(self, place: int) -> None:
        part = self.parts[place]
        if not any(one.alone is None and failure_of(one.known) for one in self.parts[place + 1 :]):
            return  # no frequencies are counted beside its outcomes
        split = not place and self.total is not None
        shares = shares_of_a_total(len(one.mechanism.inputs) for one in self.parts) if split else 1
        found = [part.certificate.limits.level] if part.least else []
        check_possible(part.before, part.possible, part.title, shares=shares, found=found)

    def _check_link(self, place: int, lift: Fraction, anyone: Fraction | None) -> None:
        part = self.parts[place]
        earlier = [name for one in self.parts[:place] for name in one.names]
        later = [name for one in self.parts[place:] for name in one.names]
        given = given_of(part.known)
        if wrong := [name for name in given if name in later]:
            raise CertificateRejected(f"{part.title} is drawn for by {joined(wrong)}, which is not drawn yet.")
        if missing := uncovered(part.known, part.alone, earlier):
            raise CertificateRejected(
                f"The proof about {part.title} says nothing of someone who has seen the outcomes of {joined(missing)}. "
                "Do not rely on it."
            )
        free = all(isinstance(one, AllPriors) for one in sets_of(part.known))
        if not free and set(given) - set(earlier) != set(self.given):
            raise CertificateRejected(
                f"The proof about {part.title} is relative to {columns_in_words(given)}, and others to "
                f"{columns_in_words(self.given)}: it says nothing of someone who sees them all."
            )
        if part.alone is not None and not earlier:
            raise CertificateRejected(f"The proof of what is drawn before {part.title} is missing. Do not rely on it.")
        if part.alone is not None:
            if beside := [name for name in given_of(part.alone) if name in earlier]:
                raise CertificateRejected(
                    f"What was known of {part.title} before is told by the outcomes of {joined(beside)}: it was "
                    "counted beside them, and the failure probability is larger. Do not rely on the certificate."
                )
            for one in sets_of(part.alone):
                check_failure(one)
            check_implied(part.known, part.alone, lift, anyone, part.title)

    def _check_joint(self) -> None:
        """Compute the priors of every part from the joint prior."""
        assert self.joint is not None
        if given_of(self.joint) != self.given:
            raise CertificateRejected(f"The joint prior must be by {columns_in_words(self.given)}.")
        if self._law is None:
            raise CertificateRejected(
                f"The joint prior has more than {MOST_CELLS:,} rows and outcomes: what follows from it was not checked."
            )
        for place, part in enumerate(self.parts):
            for seen, weights in self._law.priors(place):
                if not follows(part.known, seen, weights):
                    where = ", ".join(f"{name} = {value}" for name, value in seen.items()) or "nothing was drawn"
                    raise CertificateRejected(
                        f"The prior of {part.title} where {where} does not follow from the joint prior. Do not rely "
                        "on the certificate."
                    )

    # -- files and looks ----------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate, with the mechanisms and the priors it is about."""
        from leakwise.proof.several.several_file import save_several_certificate

        save_several_certificate(self, path)

    def _rows(self) -> list[list[str]]:
        rows = [
            [
                f"{part.title}, beside the outcomes before it" if place else part.title,
                f"lift {at_most(math.inf if part.certificate.ratio is None else part.certificate.ratio)}",
            ]
            for place, part in enumerate(self.parts)
        ]
        rows.append(["all together, lift (product)", at_most(math.inf if self.ratio is None else self.ratio)])
        for places, lift in self.exact.items():
            whole = len(places) == len(self.parts)
            what = "the whole row" if whole else joined(self.parts[place].title for place in places)
            rows.append([f"{what}, from all outcomes, exact", at_most(lift)])
        rows.append(
            ["for any prior whatever, lift", "no bound" if self.every_prior is None else at_most(self.every_prior)]
        )
        if self.total is not None:
            rows.append(["total asked for", self.total.words])
        rows.append(["holds", "yes" if self.holds else "NO"])
        if self.exact_failure:
            rows.append(["failure probability of the priors", at_most(self.exact_failure)])
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the claim, the verdict, and each part."""
        return {
            "holds": self.holds,
            "lift": self.largest_lift,
            "epsilon_upper": self.epsilon_upper,
            "product": math.inf if self.ratio is None else float_above(self.ratio),
            "every_prior_lift": math.inf if self.every_prior is None else float_above(self.every_prior),
            "total": None if self.total is None else self.total.words,
            "failure": self.failure,
            "exact": [
                {"secrets": [self.parts[place].title for place in places], "lift": float_above(lift)}
                for places, lift in self.exact.items()
            ],
            "parts": [
                {"columns": [label_to_plain(name) for name in part.names], **part.certificate.to_dict()}
                for part in self.parts
            ],
            "sentence": self.sentence,
        }


def _product(ratios: list[Fraction | None]) -> Fraction | None:
    found = Fraction(1)
    for one in ratios:
        if one is None:
            return None
        found *= one
    return found
