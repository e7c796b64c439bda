"""The contents of a report as plain data; no exact count of the private table is among them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from typing import Any

from leakwise.alphabet import label_to_plain
from leakwise.exact import float_above, float_below, log_upper
from leakwise.guarantee import at_most, for_anyone, nor_for_anyone
from leakwise.leakage import frequency_shift, ldp
from leakwise.leakage.measures.certainty import certainty
from leakwise.leakage.measures.differential import ldp_ratio
from leakwise.leakage.measures.posteriors import posterior_ranges
from leakwise.mechanism import Mechanism
from leakwise.priors import AllPriors, Prior
from leakwise.proof import Certificate
from leakwise.report.comparison import Comparison, compare
from leakwise.tables.release.certain_values import readable_words

__all__ = ["SEEDED", "Facts"]

SEEDED = (
    "FOR TESTS ONLY: the outcomes were drawn from a seed (unsafe_seed). Anyone who knows or guesses it can undo the "
    "release, so nothing is guaranteed."
)

# A matrix of more letters than this is neither drawn nor compared.
MOST_LETTERS = 400


@dataclass(frozen=True)
class Facts:
    """A release as its report shows it.

    Attributes
    ----------
    dataset
        What the data is called.
    columns
        The released column, or those released together.
    rows
        How many rows the released table has, which anyone who receives it can count.
    use
        ``"statistics"`` or ``"reading"``, or ``"given"`` for a mechanism that the user brought.
    prior, origin
        The prior (of a set of priors the one in the middle), and ``"given"`` (public knowledge) or ``"table"``
        (estimated from the table, rounded).
    failure
        The failure probability that the user gave, if any.
    certificate
        The proof that the receiver may see: with a prior from the table it rests on the rounded frequencies alone.
    how
        How the mechanism was found, with its value, upper bound and gap where it was designed.
    ledger
        The entry, where the release was entered in a ledger. (Its totals rest on exact counts, and stay there.)
    mechanism_file, certificate_file
        The names of the files that were saved with the release; None where none was, and none is named.
    unsafe_seed
        Whether the outcomes were drawn from a seed, for tests. The seed itself is not kept.
    order
        ``"keep"`` or ``"shuffle"`` as the user chose; None where the order of the rows was tested and kept.
    """

    dataset: str
    columns: tuple[str, ...]
    rows: int
    use: str
    prior: Prior
    origin: str
    failure: float | None
    certificate: Certificate
    how: dict[str, Any]
    ledger: dict[str, Any] | None
    time: datetime
    released: str | None = None
    unsafe_seed: bool = False
    order: str | None = None
    mechanism_file: str | None = None
    certificate_file: str | None = None

    @classmethod
    def now(cls) -> datetime:
        """Return the time of a release."""
        return datetime.now(UTC)

    @property
    def mechanism(self) -> Mechanism:
        """What the rows were drawn from."""
        return self.certificate.mechanism

    @property
    def promised(self) -> Fraction:
        """The lift that the report guarantees, never below what is proven.

        For a prior from the table it is the one asked for: what is proven follows from the exact counts, and to its
        last digit would reveal them.
        """
        proven = self.certificate.ratio
        assert proven is not None  # nothing is released without a bound
        if self.origin != "table" or proven == 1:
            return proven
        asked = self.certificate.asked
        if asked is None:
            return Fraction(math.ceil(100 * proven), 100)
        return asked.below if asked.exponent is None and proven <= asked.below else asked.above

    @property
    def for_whom(self) -> str:
        """For whom the guarantee holds, with the looser limit for anyone where there is one."""
        who, proven = for_anyone(self.certificate.prior), self.certificate.anyone
        limited = self.certificate.further.anyone is not None and not isinstance(self.certificate.prior, AllPriors)
        return nor_for_anyone(who, proven) if limited and proven is not None else who

    @property
    def secret(self) -> str:
        """The columns in words."""
        return " and ".join(self.columns)

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

    @property
    def row_order(self) -> str:
        """What was done about the order of the rows, in words."""
        return {
            None: "kept; no sign of the secret found",
            "keep": "kept on request, without a test",
            "shuffle": "random",
        }[self.order]

    def limits(self) -> list[str]:
        """Return what is not guaranteed."""
        local = ldp_ratio(self.mechanism)
        for_all = "there is no limit" if local is None else f"the lift is at most {at_most(local)}"
        if self.certificate.further.anyone is None and not isinstance(self.certificate.prior, AllPriors):
            for_all += " (no limit for anyone was asked for: it was switched off, or no lift was given)"
        words = [
            f"The guarantee is about the value of {self.secret} in a row, for anyone who knew the prior of this "
            "report and sees that row's released value. Someone who knew more about a person beforehand had other "
            f"odds to begin with: for any prior whatsoever {for_all}.",
            "All other columns and the number of rows are released unchanged. What they reveal about "
            f"{self.secret} is not counted here: a column that is closely related to it reveals it, whatever is done "
            f"to {self.secret} itself.",
            *self._of_order(),
            "Statistics are meant to be learned. That people like this one often have a certain value can be read "
            "from the released table, whether this person is in it or not.",
            "The guarantee covers one release. Another release of the same column, even by the same mechanism, adds to "
            "what is known, by more than the sum of the two ε in the worst case. The ledger keeps the true total.",
            "Anyone who has the original table knows everything. It must be kept, or destroyed, as its own rules "
            "require.",
        ]
        if self.origin == "table":
            words[1:1] = [
                "The prior was estimated from this very table. The mechanism was designed for its rounded frequencies, "
                "which are treated as public: anyone who sees the mechanism or this report learns them. The "
                "certificate contains the exact counts: keep it with the table.",
                "The guarantee is about people drawn like the rows of the table, for their true prior whatever it is. "
                "The rows mislead with at most the probability that the guarantee states. The rows themselves "
                "helped to choose the mechanism; what that choice reveals about one of them is not counted.",
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
                0,
                f"Rows can be read, which the owner of the table allowed: {readable_words(readable, self.mechanism)}",
            )
        if self.unsafe_seed:
            words.insert(0, SEEDED)
        if zero:
            names = ", ".join(map(str, zero[:8]))
            words.insert(
                1, f"The prior gives no probability to {names}. No row has it: one that had would have been refused."
            )
        return words

    def _of_order(self) -> list[str]:
        if self.order == "shuffle":
            return []
        tested = (
            "No test was made of it, because its owner chose to keep it."
            if self.order == "keep"
            else "A test of it found nothing, which does not prove that there is nothing."
        )
        return [
            f"The rows keep the order of the source. {tested} If the source was sorted or split by {self.secret}, or "
            f"by something related to it, the position of a row reveals its value, whatever is done to "
            f"{self.secret} itself."
        ]

    def _promise(self) -> dict[str, Any]:
        told = self.certificate.to_dict()
        if self.origin == "table":
            told |= {"ratio": float_above(self.promised), "epsilon_upper": log_upper(self.promised)}
            # Where the largest lift is reached, and its digits in words, follow from the exact counts, too.
            told = {key: value for key, value in told.items() if key not in ("outcome", "letter", "sentence")}
        return told

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        compared = self.comparison
        return {
            "format": "leakwise.report",
            "version": 1,
            "dataset": self.dataset,
            "columns": list(self.columns),
            "rows": self.rows,
            "released": self.released,
            "row_order": self.row_order,
            "time": self.time.isoformat(timespec="seconds"),
            "use": self.use,
            "frequencies_kept": self.kept is not None,
            "unsafe_seed": self.unsafe_seed,
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
