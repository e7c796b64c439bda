"""The contents of a report on whole rows: what follows from the mechanisms, the public priors and the given columns.

The number of rows in a stratum is public, because the given columns go out. Of the secret nothing is here but what the
mechanisms were made from: rounded frequencies, counts with noise, or public priors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from leakwise.alphabet import Label, joined, label_to_plain
from leakwise.exact import float_above, log_upper
from leakwise.guarantee import SAYS_NOTHING, beyond_given, rows_mislead
from leakwise.leakage.measures.differential import ldp_ratio
from leakwise.leakage.measures.posteriors import posterior_ranges
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.priors import AllPriors, Prior
from leakwise.proof import StratifiedCertificate
from leakwise.report.comparison import Comparison, Part, compare_parts
from leakwise.report.release_facts import PUBLISHED, SEEDED, ReleaseFacts, for_every_prior, promised_lift

__all__ = ["RowFacts", "StratumFacts"]

# Strata are listed up to so many, the largest first; posteriors and accuracies are computed up to so many priors.
MOST_STRATA, MOST_PARTS, MOST_LETTERS = 1000, 2000, 400


@dataclass(frozen=True)
class StratumFacts:
    """A stratum as the report shows it.

    Attributes
    ----------
    stratum
        The values of the given columns.
    rows
        How many rows have them.
    number
        Which of the mechanisms draws for it, from 0; None for that of all other combinations.
    mechanism, lift
        What draws for it, and its largest lift there.
    prior
        What it compares with; None where the mechanism holds for every prior.
    """

    stratum: Label
    rows: int
    number: int | None
    mechanism: Mechanism
    lift: Fraction
    prior: Prior | None


@dataclass(frozen=True, kw_only=True)
class RowFacts(ReleaseFacts):
    """A release by strata as its report shows it.

    Attributes
    ----------
    certificate
        The proof that the receiver may see: it rests on public priors, rounded frequencies, or counts with noise.
    sizes
        How many rows each combination of the given columns has, those without a mechanism of their own included. Rows
        that are in none of them have values that were not declared.
    """

    certificate: StratifiedCertificate
    sizes: Mapping[Label, int]

    @property
    def mechanism(self) -> StratifiedMechanism:
        """What the rows were drawn from."""
        return self.certificate.mechanism

    @property
    def promised(self) -> Fraction:
        """The lift that the report guarantees in every stratum, never below what is proven."""
        proven = self.certificate.ratio
        assert proven is not None  # nothing is released without a bound
        return promised_lift(proven, self.certificate.asked, self.origin)

    @property
    def prior_cost(self) -> Fraction:
        """What priors counted with noise cost, in nats, which the lifts contain; 0 where there are none."""
        return self.certificate.cost

    @property
    def anyone(self) -> Fraction | None:
        """The lift that is guaranteed for any prior whatever; None where it was not asked for."""
        return None if self.certificate.anyone is None else self.certificate.every_prior

    @property
    def every_prior(self) -> Fraction | None:
        """The largest lift of any mechanism for any prior whatever; None where it has no bound."""
        return self.certificate.every_prior

    @property
    def learned(self) -> bool:
        """Whether some mechanism was chosen by frequencies of the table."""
        priors = self.certificate.priors
        return self.origin == "table" and not all(isinstance(priors[key], AllPriors) for key in priors)

    @property
    def of_one_release(self) -> str:
        """What holds for this release alone, in words."""
        names, shown = self.mechanism.given, self.certificate
        if shown.every_prior == 1:
            return SAYS_NOTHING
        words = beyond_given(
            self.promised, shown.priors, names, anyone=self.anyone, about=self.secret, unrelated=self.unrelated
        )
        if shown.by_value:
            words += f" {shown.by_value}"
        if shown.priors.exact_failure:
            words += f" {rows_mislead(shown.priors, names)}"
        return f"{words} {self._on_the_frequencies}" if self.learned else words

    # -- strata -------------------------------------------------------------------------------------------------

    @cached_property
    def strata(self) -> list[StratumFacts]:
        """The largest strata, up to 1,000 of them."""
        order = sorted(self.sizes, key=lambda key: -self.sizes[key])
        return [self._stratum(key) for key in order[:MOST_STRATA]]

    def _stratum(self, key: Label) -> StratumFacts:
        shown, rows = self.certificate, self.sizes[key]
        number = self._numbers.get(key)
        if number is None:
            rest = self.mechanism.otherwise
            assert rest is not None  # a row without a mechanism is refused
            return StratumFacts(key, rows, None, rest, self._rest_lift, None)
        known, lift = shown.priors[key], shown.lift(key)
        assert lift is not None
        prior = None if isinstance(known, AllPriors) else known.nominal
        return StratumFacts(key, rows, number, self.mechanism.mechanisms[number], lift, prior)

    @cached_property
    def _numbers(self) -> Mapping[Label, int]:
        return dict(self.mechanism.numbered)

    @cached_property
    def _rest_lift(self) -> Fraction:
        rest = self.mechanism.otherwise
        lift = None if rest is None else ldp_ratio(rest)
        assert lift is not None
        return lift

    @cached_property
    def undeclared(self) -> int:
        """How many rows are in no stratum that can be named: they have the mechanism for all other combinations."""
        return self.rows - sum(self.sizes.values())

    @cached_property
    def fallback(self) -> tuple[int, int]:
        """How many strata have the mechanism for every prior, and how many rows, those in no stratum included."""
        shown = self.certificate.priors
        rest = [
            rows for key, rows in self.sizes.items() if key not in self._numbers or isinstance(shown[key], AllPriors)
        ]
        return len(rest), sum(rest) + self.undeclared

    @cached_property
    def _known(self) -> list[tuple[Label, Part]]:
        """The strata of which a prior is known, equal ones together: the largest of each, and all their rows."""
        found: dict[Any, tuple[Label, Part]] = {}
        for key in sorted(self._numbers, key=lambda key: -self.sizes.get(key, 0)):
            known, rows = self.certificate.priors[key], self.sizes.get(key, 0)
            if not rows or isinstance(known, AllPriors):
                continue
            number, support = self._numbers[key], self.mechanism.support(key)
            token = number, tuple(known.nominal.weights.tolist()), support.tobytes()
            one = Part(self.mechanism.mechanisms[number], known.nominal, rows, support)
            first, before = found.get(token, (key, None))
            found[token] = first, one if before is None else replace(one, rows=before.rows + rows)
        return list(found.values())

    @cached_property
    def prior(self) -> Prior | None:
        """The frequencies of all rows, by the strata of which they are known; None where they are of none."""
        parts = [part for _, part in self._known]
        if not parts:
            return None
        masses = sum(part.rows * part.prior.probabilities for part in parts) / sum(part.rows for part in parts)
        return Prior(dict(zip(self.mechanism.inputs, np.asarray(masses).tolist(), strict=True)))

    @cached_property
    def parts(self) -> list[Part] | None:
        """All rows by mechanism and prior; those without a prior have the frequencies of all rows. None if too many."""
        whole = self.prior or Prior.uniform(self.mechanism.inputs)
        shown, numbers = self.certificate.priors, self._numbers
        rest: Counter[int | None] = Counter({None: self.undeclared})
        for key, rows in self.sizes.items():
            number = numbers.get(key)
            if number is None or isinstance(shown[key], AllPriors):
                rest[number] += rows
        parts = [part for _, part in self._known]
        for number, rows in rest.items():
            if rows:
                one = self.mechanism.otherwise if number is None else self.mechanism.mechanisms[number]
                assert one is not None
                parts.append(Part(one, whole, rows))
        return parts if len(parts) <= MOST_PARTS and len(self.mechanism.inputs) <= MOST_LETTERS else None

    @cached_property
    def comparison(self) -> Comparison | None:
        """This release compared with randomized response of the same leakage, over all strata together."""
        return None if self.parts is None else compare_parts(self.parts, log_upper(self.promised), self.rows)

    @cached_property
    def letters(self) -> list[dict[str, Any]]:
        """Each value with its frequency in all rows, and where it can become most likely: before, after, and where."""
        if self.parts is None or self.prior is None:
            return []
        most: list[dict[str, Any]] = [{} for _ in self.mechanism.inputs]
        for key, part in self._known:
            ranges = posterior_ranges(part.mechanism, part.prior)
            for one, before, (_, after) in zip(most, part.prior.probabilities.tolist(), ranges, strict=True):
                if after > one.get("most", -1):
                    one |= {"before": before, "most": after, "stratum": key}
        return [
            {"letter": label, "in_all": float(mass), **one}
            for label, mass, one in zip(self.mechanism.inputs, self.prior.probabilities, most, strict=True)
        ]

    # -- words --------------------------------------------------------------------------------------------------

    def limits(self) -> list[str]:
        """Return what is not guaranteed."""
        given, shown = joined(self.mechanism.given), self.certificate
        alone = len(self.mechanism.given) == 1
        them, reveal, without = (
            ("it", "reveals about", f"without {given}")
            if alone
            else ("them", "reveal about", f"without {given} (or with only some of them)")
        )
        words = [
            f"The guarantee is about what the outcome adds. What {given} {reveal} {self.secret} is not limited by any "
            f"mechanism: the row shows {them}.",
            f"Someone who knew more about a person than {given} had other odds to begin with: for any prior "
            f"whatsoever {for_every_prior(self.anyone or shown.every_prior, shown.anyone is not None)}.",
            f"A copy of the released {self.secret} {without} is another release: the guarantee is for anyone who sees "
            f"{them} with the outcome, and not for someone who does not. Share the rows whole.",
            *self._of_frequencies(),
            *self._of_other_columns(),
            *self._of_order(),
            "Rows of one person, of a family, or that depend on one another in other ways reveal more together: for g "
            "such rows only the limit for anyone counts, to the power of g.",
            *self._of_every_release(),
        ]
        return [SEEDED, *words] if self.unsafe_seed else words

    @property
    def fallen(self) -> str:
        """Which rows have the mechanism that holds for every prior, in words."""
        strata, rows = self.fallback
        several = f"{strata:,} of {len(self.sizes):,} strata" if strata else "strata that are not listed"
        return f"{rows:,} of {self.rows:,} rows, in {several}, have the mechanism that holds for every prior."

    def _of_frequencies(self) -> list[str]:
        if self.origin != "table":
            return []
        if not self.learned:
            return ["Nothing was learned from the table: the mechanisms hold for every prior."]
        if self.prior_cost:
            start = PUBLISHED
        else:
            start = (
                "The frequencies of the strata, rounded, are treated as public: anyone who sees the mechanism or this "
                "report learns them. The certificate contains the exact counts: keep it with the table."
            )
        _, rows = self.fallback
        small = f" {self.fallen}" if rows else ""
        return [f"{start}{small}"]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        shown, compared = self.certificate, self.comparison
        strata, rows = self.fallback
        return {
            **self._head(2),
            "promise": {
                "sentence": self.guarantee,
                "holds": shown.holds,
                "given": list(map(str, self.mechanism.given)),
                "lift": float_above(self.promised),
                "epsilon_upper": log_upper(self.promised),
                "anyone": None if self.anyone is None else float_above(self.anyone),
                "asked": shown.limits.describe() or None,
                "failure": shown.failure,
            },
            "prior": {
                "origin": self.origin,
                "failure_given": self.failure,
                "cost": float_above(self.prior_cost),
                "labels": [label_to_plain(label) for label in self.mechanism.inputs],
                "in_all": None if self.prior is None else self.prior.probabilities.tolist(),
            },
            "strata": [
                {
                    "stratum": label_to_plain(one.stratum),
                    "rows": one.rows,
                    "mechanism": one.number,
                    "lift": float_above(one.lift),
                    "prior": None if one.prior is None else one.prior.probabilities.tolist(),
                }
                for one in self.strata
            ],
            "strata_not_listed": len(self.sizes) - len(self.strata),
            "for_every_prior": {"strata": strata, "rows": rows},
            "letters": [
                {
                    "letter": label_to_plain(one["letter"]),
                    "in_all": one["in_all"],
                    "before": one["before"],
                    "most": float_above(Fraction(one["most"])),
                    "stratum": label_to_plain(one["stratum"]),
                }
                for one in self.letters
            ],
            "mechanism": self.mechanism.to_dict(),
            "how": self.how,
            "comparison": None if compared is None else compared.to_dict(),
            "ledger": self.ledger,
            "limits": self.limits(),
        }
