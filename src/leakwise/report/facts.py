"""The contents of a report as plain data; no exact count of the private table is among them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from leakwise.alphabet import label_to_plain
from leakwise.exact import exp_upper, float_above, float_below, log_upper
from leakwise.guarantee import for_anyone, no_guess, nor_for_anyone
from leakwise.leakage import frequency_shift, ldp
from leakwise.leakage.measures.certainty import certainty
from leakwise.leakage.measures.differential import ldp_ratio
from leakwise.leakage.measures.posteriors import posterior_ranges
from leakwise.mechanism import Mechanism
from leakwise.priors import AllPriors, Prior
from leakwise.proof import Certificate, prior_cost
from leakwise.report.comparison import Comparison, compare
from leakwise.report.release_facts import PUBLISHED, SEEDED, ReleaseFacts, for_every_prior, promised_lift
from leakwise.tables.release.certain_values import readable_words

__all__ = ["SEEDED", "Facts"]

# A matrix of more letters than this is neither drawn nor compared.
MOST_LETTERS = 400


@dataclass(frozen=True, kw_only=True)
class Facts(ReleaseFacts):
    """A release by one mechanism as its report shows it.

    Attributes
    ----------
    prior
        What the guarantee compares with: of a set of priors the one in the middle, of the table's it is rounded.
    certificate
        The proof that the receiver may see: with a prior from the table it rests on the rounded frequencies alone.
    """

    prior: Prior
    certificate: Certificate

    @property
    def mechanism(self) -> Mechanism:
        """What the rows were drawn from."""
        return self.certificate.mechanism

    @property
    def promised(self) -> Fraction:
        """The lift that the report guarantees, never below what is proven."""
        proven = self.certificate.ratio
        assert proven is not None  # nothing is released without a bound
        return promised_lift(proven * self._factor, self.certificate.asked, self.origin)

    @property
    def prior_cost(self) -> Fraction:
        """What a prior counted with noise costs, in nats; 0 where counts were rounded or the prior is public."""
        return prior_cost(self.certificate.prior)

    @property
    def _factor(self) -> Fraction:
        return exp_upper(self.prior_cost) if self.prior_cost else Fraction(1)

    @property
    def _limited(self) -> bool:
        """Whether a limit for anyone was asked for, beside that of the prior."""
        return self.certificate.further.anyone is not None and not isinstance(self.certificate.prior, AllPriors)

    @property
    def anyone(self) -> Fraction | None:
        """The lift that is guaranteed for any prior whatever; None where it was not asked for, or is no other."""
        if not self._limited:
            return None
        proven = self.certificate.anyone
        return None if proven is None else proven * self._factor

    @property
    def every_prior(self) -> Fraction | None:
        """The largest lift of the mechanism for any prior whatever; None where it has no bound."""
        return ldp_ratio(self.mechanism)

    @property
    def for_whom(self) -> str:
        """For whom the guarantee holds, with the looser limit for anyone where there is one."""
        who = for_anyone(self.certificate.prior)
        return who if self.anyone is None else nor_for_anyone(who, self.anyone)

    @property
    def of_one_release(self) -> str:
        """What holds for this release alone, in words."""
        shown = self.certificate
        if self.origin != "table" and not self.spoken:
            return shown.sentence
        about = "the secret" if not self.spoken else self.secret
        seeing = "by seeing the outcome" if not self.spoken else "by seeing the row"
        words = no_guess(
            self.promised, shown.prior, anyone=self.anyone, about=about, seeing=seeing, unrelated=self.unrelated
        )
        words += "".join(f" {one.sentence}".rstrip() for one in shown.kept)
        if self.origin != "table" or isinstance(shown.prior, AllPriors):
            return words
        if not self.spoken and not self.prior_cost:
            return f"{words} The true prior is that of people drawn like the rows: the table itself was the sample."
        return f"{words} {self._on_the_frequencies}"

    @property
    def outcomes(self) -> list[str]:
        """The outcomes as they are shown: of a joint one that points to its first column, what stands there."""
        pointer = f"see {self.columns[0]}"
        return [
            str(one[0] if isinstance(one, tuple) and set(one[1:]) == {pointer} else one)
            for one in self.mechanism.outputs
        ]

    @property
    def small(self) -> bool:
        """Whether the mechanism can be looked at as a matrix."""
        return max(self.mechanism.shape) <= MOST_LETTERS

    @cached_property
    def kept(self) -> str | None:
        """Where the frequencies come from that outcomes keep, as ``origin``; None where they do not keep them."""
        return self.origin if self.small and frequency_shift(self.mechanism, self.prior) <= 2.0**-50 else None

    @cached_property
    def ldp(self) -> float:
        """The ε that holds whatever the prior is, infinite where nothing does."""
        return ldp(self.mechanism)

    @cached_property
    def comparison(self) -> Comparison | None:
        """This release compared with randomized response of the same leakage, where the domain is not too large."""
        if not self.small:
            return None
        return compare(self.mechanism, self.prior, log_upper(self.promised), self.rows)

    @cached_property
    def letters(self) -> list[dict[str, Any]]:
        """Each value with its probability before, and the least and the most it can have after any outcome."""
        if not self.small:
            return []
        ranges = posterior_ranges(self.mechanism, self.prior)
        return [
            {"letter": label, "before": float(before), "least": least, "most": most}
            for label, before, (least, most) in zip(
                self.mechanism.inputs, self.prior.probabilities, ranges, strict=True
            )
        ]

    def limits(self) -> list[str]:
        """Return what is not guaranteed."""
        limited = self._limited or isinstance(self.certificate.prior, AllPriors)
        words = [
            f"The guarantee is about the value of {self.secret} in a row, for anyone who knew the prior of this "
            "report and sees that row's released value. Someone who knew more about a person beforehand had other "
            f"odds to begin with: for any prior whatsoever {for_every_prior(self.every_prior, limited)}.",
            *self._of_other_columns(),
            *self._of_order(),
            *self._of_every_release(),
        ]
        like = (
            "The guarantee is about people drawn like the rows of the table, for their true prior whatever it is. The "
            "rows mislead with at most the probability that the guarantee states."
        )
        if self.origin == "table" and self.prior_cost:
            words[1:1] = [PUBLISHED, like]
        elif self.origin == "table":
            words[1:1] = [
                "The prior was estimated from this very table. The mechanism was designed for its rounded frequencies, "
                "which are treated as public: anyone who sees the mechanism or this report learns them. The "
                "certificate contains the exact counts: keep it with the table.",
                f"{like} The rows themselves helped to choose the mechanism; what that choice reveals about one of "
                "them is not counted.",
            ]
        elif self.failure is not None:
            words.insert(
                1,
                f"The prior was taken as known. The failure probability that was given ({self.failure:g}) would matter "
                "for a prior estimated from data; nothing was made wider because of it.",
            )
        zero = [label for label, mass in zip(self.prior.labels, self.prior.weights, strict=True) if not mass]
        readable = certainty(self.mechanism, self.certificate.prior)
        if readable.readable:
            words.insert(
                0, f"Rows can be read, which the owner of the table allowed: {readable_words(readable, self.mechanism)}"
            )
        if self.unsafe_seed:
            words.insert(0, SEEDED)
        if zero:
            names = ", ".join(map(str, zero[:8]))
            words.insert(
                1, f"The prior gives no probability to {names}. No row has it: one that had would have been refused."
            )
        return words

    def _promise(self) -> dict[str, Any]:
        told = self.certificate.to_dict()
        if self.origin == "table":
            told |= {"ratio": float_above(self.promised), "epsilon_upper": log_upper(self.promised)}
            # Where the largest lift is reached, and its digits in words, follow from the exact counts, too.
            told = {key: value for key, value in told.items() if key not in ("outcome", "letter", "sentence")}
        return told | {"sentence": self.guarantee} if self.spoken else told

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        compared = self.comparison
        return {
            **self._head(1 if self.row is None else 2),
            "frequencies_kept": self.kept is not None,
            "promise": self._promise(),
            "ldp": None if math.isinf(self.ldp) else self.ldp,
            "prior": {
                "origin": self.origin,
                "failure_given": self.failure,
                "labels": [label_to_plain(label) for label in self.prior.labels],
                "probabilities": self.prior.probabilities.tolist(),
            },
            "letters": [
                {
                    "letter": label_to_plain(one["letter"]),
                    "before": one["before"],
                    "least": float_below(Fraction(one["least"])),
                    "most": float_above(Fraction(one["most"])),
                }
                for one in self.letters
            ],
            "mechanism": self.mechanism.to_dict(),
            "how": self.how,
            "comparison": None if compared is None else compared.to_dict(),
            "ledger": self.ledger,
            "limits": self.limits(),
        }
