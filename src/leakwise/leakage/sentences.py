"""An audit in words that need no mathematics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from leakwise.errors import some_of

if TYPE_CHECKING:
    from leakwise.leakage.audit import Audit

__all__ = ["percent", "sentences", "times"]


def times(factor: float) -> str:
    """A factor rounded up to two decimals, or to three digits where it is large."""
    if factor < 1000:
        return f"{math.ceil(factor * 100 - 1e-7) / 100:.2f}"
    return f"{factor:.3g}"


def percent(probability: float) -> str:
    """A probability in percent, with the digits that tell it from 0 and from 100."""
    value = 100 * probability
    if probability in (0.0, 1.0) or 0.1 <= value <= 99.9:
        return f"{value:.1f} %" if probability not in (0.0, 1.0) else f"{value:.0f} %"
    return f"{value:.2g} %" if value < 1 else f"100 % - {100 - value:.2g} %"


def sentences(audit: Audit) -> list[str]:
    """What the audit means, the most important first."""
    found = [*_worst(audit), *_letters(audit), *_average(audit), *_tail(audit), *_never(audit), *_ldp(audit)]
    if audit.left_out:
        found.append(
            f"The prior gives no probability to {some_of(audit.left_out)}. All of this is said of the letters "
            f"that can occur; "
            "if one of those left out can occur after all, it does not hold."
        )
    if audit.prior is not audit.prior.nominal:
        found.append(
            "The first statement holds for every prior of the set; the others are for the prior in its middle. The set "
            f"misses the true prior with probability at most {percent(audit.prior.failure)}."
        )
    return found


def _worst(audit: Audit) -> list[str]:
    if audit.epsilon == 0:
        return ["The outcome says nothing about the secret: every guess stays exactly as likely as before."]
    words = [f"No guess about the secret becomes more than {times(audit.lift)} times likelier by seeing the outcome."]
    if audit.outcomes:
        worst = max(audit.outcomes, key=lambda outcome: outcome.leakage)
        letter = next((each for each in audit.letters if each.label == worst.letter), None)
        if letter is not None and audit.prior is audit.prior.nominal:
            words.append(
                f"The most telling outcome is {worst.label!r}, which comes up with probability "
                f"{percent(worst.probability)}: "
                f"it makes the letter {worst.letter!r} {times(worst.lift)} times likelier, from "
                f"{percent(letter.prior)} to "
                f"{percent(min(1.0, letter.prior * worst.lift))}."
            )
    return words


def _letters(audit: Audit) -> list[str]:
    certain = [letter.label for letter in audit.letters if letter.most == 1 and letter.prior < 1]
    ruled_out = [letter.label for letter in audit.letters if letter.least == 0]
    words = []
    if certain:
        words.append(f"Some outcome gives {some_of(certain)} away with certainty.")
    if ruled_out:
        words.append(
            f"Some outcome rules {some_of(ruled_out)} out. (Ruling a letter out is no breach of this limit by "
            f"itself: it "
            "counts by how much it makes the others likelier.)"
        )
    return words


def _average(audit: Audit) -> list[str]:
    if not audit.letters:
        return []
    before = max(letter.prior for letter in audit.letters)
    after = min(1.0, before * math.exp(audit.min_entropy_leakage))
    if after - before < 5e-4:
        return [f"Somebody who guesses the secret at one try is right {percent(before)} of the time, before and after."]
    return [
        f"Somebody who guesses the secret at one try is right {percent(before)} of the time before, and "
        f"{percent(after)} "
        "after, on average over the outcomes."
    ]


def _tail(audit: Audit) -> list[str]:
    factor = times(float(audit.level.below)) if audit.level.below < 10**15 else "so many"
    if audit.tail == 0:
        return [f"No outcome makes any guess more than {factor} times likelier."] if audit.epsilon else []
    return [
        f"With probability {percent(audit.tail)} the outcome makes some guess more than {factor} times likelier. "
        f"Somebody who "
        "processes the outcome further may make that happen more often, though never beyond the first statement."
    ]


def _never(audit: Audit) -> list[str]:
    """A value of prior probability p has at most p·e^ε afterwards: below e^-ε it stays uncertain."""
    if audit.epsilon == 0:
        return []
    threshold = math.exp(-audit.epsilon)
    words = (
        f"Whatever is asked of the secret, an answer that had less than {percent(threshold)} probability before cannot "
        f"become certain: a fact of the secret none of whose values reaches {percent(threshold)} (min-entropy above "
        f"{audit.epsilon:.3g} nats) is never disclosed."
    )
    safe = [letter for letter in audit.letters if letter.prior < threshold * (1 - 1e-9)]
    if safe and audit.prior is audit.prior.nominal:
        most = max(safe, key=lambda letter: letter.most)
        which = "any single letter" if len(safe) == len(audit.letters) else some_of([letter.label for letter in safe])
        words += f" That covers {which}: at most {percent(most.most)} after any outcome."
    return [words]


def _ldp(audit: Audit) -> list[str]:
    if audit.ldp == 0:
        return []
    if math.isinf(audit.ldp):
        return [
            "Local differential privacy gives no guarantee here (its ε is infinite), because some outcome is "
            "impossible for one "
            f"letter and possible for another. The limit of {times(audit.lift)} still holds: it compares each "
            f"guess with what was "
            "believed before, not two letters with each other."
        ]
    gap = audit.ldp - audit.epsilon
    if gap < 5e-4:
        return [f"Local differential privacy says the same: a factor of at most {times(math.exp(audit.ldp))}."]
    return [
        f"Local differential privacy would have said {times(math.exp(audit.ldp))} (ε = {audit.ldp:.4g}). It "
        f"compares two "
        "letters with each other for the worst prior; here each guess is compared with its probability under the "
        "prior given, "
        f"which is why {times(audit.lift)} suffices. For another prior the factor may be larger, up to the one of LDP."
    ]
