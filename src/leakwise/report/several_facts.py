"""What the report on several secrets of a row says: of each, and of all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from leakwise.alphabet import joined
from leakwise.exact import float_above, log_upper
from leakwise.guarantee import at_least, at_most, treated_as_public
from leakwise.priors import AllPriors
from leakwise.proof import Certificate, SeveralCertificate, row_guarantee
from leakwise.report.facts import Facts
from leakwise.report.release_facts import SEEDED, ReleaseFacts, for_every_prior
from leakwise.report.row_facts import RowFacts
from leakwise.tables.row_columns import RowColumns

__all__ = ["SeveralFacts"]


# What is said of a lift that margins decided.
_ASKED, _LEAST, _LOWER = "asked of it", "least lift", "no lift suffices up to"


@dataclass(frozen=True, kw_only=True)
class SeveralFacts(ReleaseFacts):
    """A release of several secrets as its report shows it.

    Attributes
    ----------
    parts
        What the report would say of each secret, which the outcomes before it are given columns of.
    certificate
        The proof that the receiver may see.
    """

    parts: tuple[Facts | RowFacts, ...]
    certificate: SeveralCertificate

    @classmethod
    def of(
        cls, parts: Sequence[Facts | RowFacts], certificate: SeveralCertificate, row: RowColumns | None
    ) -> SeveralFacts:
        """Return what is said of all secrets, from what is said of each."""
        first = parts[0]
        return cls(
            dataset=first.dataset,
            columns=tuple(name for one in parts for name in one.columns),
            rows=first.rows,
            use=first.use,
            origin=first.origin,
            failure=certificate.failure or None,
            how={
                f"{name}, {part.secret}": part.how[name]
                for part in parts
                for name in (_ASKED, _LEAST, _LOWER)
                if _LEAST in part.how and name in part.how
            },
            ledger=first.ledger,
            time=first.time,
            released=first.released,
            unsafe_seed=first.unsafe_seed,
            order=first.order,
            row=row,
            parts=tuple(parts),
            certificate=certificate,
        )

    @property
    def secret(self) -> str:
        """The secrets in words."""
        return joined(part.secret for part in self.parts)

    @property
    def product(self) -> Fraction:
        """The lifts of all secrets, multiplied."""
        found = Fraction(1)
        for part in self.parts:
            found *= part.promised
        return found

    @property
    def least_lifts(self) -> str:
        """Which lifts are the least that meet margins, and below what none suffices, in words; empty without any."""
        told = []
        for part in self.parts:
            if _LEAST in part.how:
                lower = part.how.get(_LOWER)
                known = "" if lower is None else f" (no lift up to {at_least(lower)} suffices)"
                told.append(f"{part.secret} {at_most(part.how[_LEAST])}{known}")
        return f"The least lifts that meet the margins: {joined(told)}." if told else ""

    @property
    def exact(self) -> Fraction | None:
        """The largest lift of all outcomes together on a joint prior that is public, exact."""
        return self.certificate.exact.get(tuple(range(len(self.parts))))

    @property
    def promised(self) -> Fraction:
        """The lift that the report guarantees for all outcomes together, never below what is proven."""
        return self.product if self.exact is None else min(self.exact, self.product)

    @cached_property
    def anyone(self) -> Fraction | None:
        """The lift of all outcomes together for any prior whatever; None where it was not asked for."""
        found = Fraction(1)
        for part in self.parts:
            own = part.promised if _for_every_prior(part) else part.anyone
            if own is None:
                return None
            found *= own
        return found

    @property
    def prior_cost(self) -> Fraction:
        """Nothing: frequencies of several secrets are rounded, not counted with noise."""
        return Fraction(0)

    @property
    def every_prior(self) -> Fraction | None:
        """The largest lift of all outcomes together for any prior whatever; None where it has no bound."""
        return self.certificate.every_prior

    @property
    def of_one_release(self) -> str:
        """What holds for this release alone, in words."""
        words = row_guarantee(
            [part.secret for part in self.parts],
            [part.promised for part in self.parts],
            given=self.given,
            anyone=None if all(map(_for_every_prior, self.parts)) else self.anyone,
            who=self.certificate.who,
            exact=self.exact,
            unrelated=self.unrelated,
        )
        if self.origin != "table":
            return words
        if self.certificate.exact_failure:
            like = f"the rows with the same {joined(self.given)}" if self.given else "the rows"
            words += (
                f" The rows mislead, and the guarantee with them, with probability at most "
                f"{at_most(self.certificate.exact_failure)}: it is about people drawn like {like}."
            )
        return f"{words} {treated_as_public(self.promised, self.anyone, by_stratum=True)}"

    def limits(self) -> list[str]:
        """Return what is not guaranteed."""
        secrets = joined(part.secret for part in self.parts)
        words = [
            f"The lift of one secret is what its own outcome adds. Anyone who sees the outcomes of {secrets} together "
            f"may learn more about each of them than its own lift, where they go with one another: at most "
            f"{at_most(self.promised)} times as likely in all.",
            f"Someone who knew more about a person beforehand had other odds to begin with: for any prior whatsoever "
            f"{for_every_prior(self.certificate.every_prior, self.anyone is not None)}.",
            "Later secrets are drawn for by mechanisms that depend on earlier outcomes. A copy of a later column "
            "without the earlier ones is covered by the limit of all together, not by its own.",
            *(["What the given columns say by themselves is not limited by any mechanism."] if self.given else []),
            *self._of_other_columns(),
            *self._of_order(),
            *self._of_every_release(),
        ]
        if self.origin == "table":
            words.insert(
                3,
                "Frequencies of the table, rounded, are treated as public: anyone who sees the mechanisms or this "
                "report learns them. The certificate contains the exact counts: keep it with the table.",
            )
        return [SEEDED, *words] if self.unsafe_seed else words

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        shown = self.certificate
        return {
            **self._head(3),
            "promise": {
                "sentence": self.guarantee,
                "holds": shown.holds,
                "given": list(map(str, self.given)),
                "lift": float_above(self.promised),
                "epsilon_upper": log_upper(self.promised),
                "product": float_above(self.product),
                "exact": [
                    {"secrets": [self.parts[place].secret for place in places], "lift": float_above(lift)}
                    for places, lift in shown.exact.items()
                ],
                "anyone": None if self.anyone is None else float_above(self.anyone),
                "total": None if shown.total is None else shown.total.words,
                "failure": shown.failure,
            },
            "secrets": [part.to_dict() for part in self.parts],
            "ledger": self.ledger,
            "limits": self.limits(),
        }


def _for_every_prior(part: Facts | RowFacts) -> bool:
    """Whether the first limit of a secret is one for anyone already."""
    found = part.certificate
    if isinstance(found, Certificate):
        return isinstance(found.prior, AllPriors)
    return all(isinstance(found.priors[key], AllPriors) for key in found.priors)
