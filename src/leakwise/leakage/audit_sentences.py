"""An audit in words that need no mathematics; for a set of priors each sentence says which of them it is about."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from leakwise.charts.words import Broken, Kept
from leakwise.errors import some_of, written
from leakwise.guarantee import at_most, never_certain, no_guess, percent, percent_at_most
from leakwise.leakage.measures.differential import ldp_ratio
from leakwise.proof import FOR_ANYONE

if TYPE_CHECKING:
    from leakwise.leakage.audit import Audit

__all__ = ["sentences"]

_SET, _NOMINAL, _ALL = "For every prior of the set: ", "For the nominal prior of the set: ", "For every prior: "


def sentences(audit: Audit) -> list[str]:
    """Return what the audit means, the most important first."""
    parts: list[tuple[str, Callable[[Audit], list[str]]]] = [
        (_SET, _worst),
        ("", _limits),
        (_NOMINAL, _most_telling),
        (_NOMINAL, _values),
        (_NOMINAL, _average),
        (_NOMINAL, _tail),
        (_SET, _never),
        (_ALL, _ldp),
        (_NOMINAL, _left_out),
    ]
    return [type(words)((scope if audit.of_set else "") + words) for scope, part in parts for words in part(audit)]


def _worst(audit: Audit) -> list[str]:
    return [Kept(no_guess(audit.ratio, audit.prior))]


def _limits(audit: Audit) -> list[str]:
    """Whether each further limit that was asked about is kept; whom it is about, its name says."""
    scope = _SET if audit.of_set else ""
    told = [
        Kept(f"The {one.name} is {one.limit}, as asked.") if one.kept else Broken(one.excess) for one in audit.limits
    ]
    return [
        type(words)(("" if one.name == FOR_ANYONE else scope) + words)
        for one, words in zip(audit.limits, told, strict=True)
    ]


def _most_telling(audit: Audit) -> list[str]:
    if not audit.outcomes or audit.epsilon == 0 or audit.of_set:
        return []
    worst = max(audit.outcomes, key=lambda outcome: outcome.leakage)
    value = next(each for each in audit.letters if each.label == worst.letter)
    return [
        f"The most revealing outcome is {written(worst.label)}, which has probability {percent(worst.probability)}: it "
        f"makes the value {written(worst.letter)} {at_most(worst.ratio)} times as likely, from {percent(value.prior)} "
        f"to at most {percent_at_most(value.range[1])}."
    ]


def _values(audit: Audit) -> list[str]:
    certain = [letter.label for letter in audit.letters if letter.most == 1 and letter.prior < 1]
    ruled_out = [letter.label for letter in audit.letters if letter.least == 0]
    words = []
    if certain:
        words.append(f"Some outcome reveals {some_of(certain)} with certainty.")
    if ruled_out:
        words.append(
            f"Some outcome rules {some_of(ruled_out)} out. (Ruling a value out is not a breach of the limit by itself: "
            "what counts is how much more likely it makes the others.)"
        )
    return words


def _average(audit: Audit) -> list[str]:
    if not audit.letters:
        return []
    before = max(letter.prior for letter in audit.letters)
    after = min(1.0, before * math.exp(audit.min_entropy_leakage))
    if after - before < 5e-4:
        return [f"Someone who guesses the secret at one try is right {percent(before)} of the time, before and after."]
    return [
        f"Someone who guesses the secret at one try is right {percent(before)} of the time before, and "
        f"{percent(after)} after, on average over the outcomes."
    ]


def _tail(audit: Audit) -> list[str]:
    # The tail is of lifts above ``below``: rounding that up keeps both sentences true.
    level = at_most(audit.level.below)
    if audit.tail == 0:
        return [f"No outcome makes any guess more than {level} times as likely."] if audit.epsilon else []
    return [
        f"With probability at most {percent_at_most(audit.tail)} the outcome makes some guess more than {level} times "
        "as likely. Someone who processes the outcome further may make that happen more often, though never beyond the "
        "first statement."
    ]


def _never(audit: Audit) -> list[str]:
    """A value of prior probability p has at most p·e^ε afterwards: below e^-ε it stays uncertain."""
    if audit.epsilon == 0:
        return []
    entropy = at_most(audit.epsilon)
    words = f"{never_certain(audit.ratio)} A fact with more min-entropy than {entropy} nats stays uncertain."
    # What is left of e^-ε, compared as fractions: a lift may be beyond floats, and a prior below them reads as zero.
    least = 0 if audit.ratio == math.inf else Fraction(1 - 1e-9) / Fraction(audit.ratio)
    safe = [letter for letter in audit.letters if Fraction(letter.prior) < least and letter.range[1] < 1]
    if safe and not audit.of_set:
        most = max(letter.range[1] for letter in safe)
        which = "any single value" if len(safe) == len(audit.letters) else some_of([letter.label for letter in safe])
        words += f" That covers {which}: at most {percent_at_most(most)} after any outcome."
    return [words]


def _ldp(audit: Audit) -> list[str]:
    if audit.ldp == 0:
        return []
    ours = at_most(audit.ratio)
    local = ldp_ratio(audit.mechanism)
    if local is None:
        return [
            "Local differential privacy gives no guarantee here (its ε is infinite), because some outcome is "
            f"impossible for one value and possible for another. The lift of {ours} still holds: it compares each "
            "guess with what was believed before, not two values with each other."
        ]
    theirs = at_most(local)
    if audit.ldp - audit.epsilon < 5e-4:
        return [f"Local differential privacy says the same: at most {theirs} times as likely."]
    return [
        f"Local differential privacy guarantees {theirs} (ε = {at_most(audit.ldp)}). It compares two values with "
        "each other for the worst prior; here each guess is compared with its probability under the prior given, which "
        f"is why {ours} suffices. For another prior the lift may be larger, up to the one of LDP."
    ]


def _left_out(audit: Audit) -> list[str]:
    if not audit.left_out:
        return []
    return [
        f"The prior gives no probability to {some_of(audit.left_out)}. All of this is about the values that can occur; "
        "if one of those left out can occur after all, it does not hold."
    ]
