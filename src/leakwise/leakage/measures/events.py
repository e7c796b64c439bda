"""What a set of outcomes gives away: the leakage of an event ([EN] Appendix C)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from leakwise.alphabet import Label
from leakwise.errors import InvalidInput
from leakwise.exact import exact_fraction
from leakwise.leakage.measures.arguments import checked
from leakwise.leakage.measures.pointwise import pml
from leakwise.mechanism import Mechanism

__all__ = ["event_leakage"]


def event_leakage(mechanism: Mechanism, prior: Any, outcomes: Iterable[Label] | Mapping[Label, object]) -> float:
    """Return what learning that the outcome is one of a set leaks, in nats, never below the truth.

    ℓ(X→E) = log max_x P(E|x)/P(E) ([EN] (23)): the pointwise maximal leakage of the answer "yes" to the question
    whether the outcome is in E. Between 0 and log 1/P(E); at most the largest leakage of the outcomes in E, and 0 for
    all of them together. For a set of priors it is the largest over the set.

    Parameters
    ----------
    mechanism, prior
        As for :func:`lw.pml`.
    outcomes
        The outcomes of the event. A mapping from outcomes to probabilities is a randomized event: each of them counts
        with its probability.

    Examples
    --------
    >>> from leakwise import Prior, randomized_response
    >>> m = randomized_response(["a", "b", "c"], lift=4)
    >>> print(f"{event_leakage(m, Prior.uniform(3), ['a']):.4f} {event_leakage(m, Prior.uniform(3), ['a', 'b']):.4f}")
    0.6931 0.2231
    """
    letters = checked(mechanism).output_alphabet
    if isinstance(outcomes, (str, bytes)) or not isinstance(outcomes, Iterable):
        raise InvalidInput(f"outcomes must be a list of outcomes. Got {outcomes!r} instead: write [{outcomes!r}].")
    shares = outcomes if isinstance(outcomes, Mapping) else dict.fromkeys(outcomes, 1)
    inside = [Fraction(0)] * len(letters)
    for label, share in shares.items():
        exact = exact_fraction(share, f"the probability of outcome {label!r}")
        if not 0 <= exact <= 1:
            raise InvalidInput(f"outcomes must map to probabilities between 0 and 1. Got {share!r} for {label!r}.")
        inside[letters.code(label, name="outcome")] = exact
    if not any(inside):
        raise InvalidInput("outcomes must hold at least one outcome: the empty event never happens.")
    return float(pml(mechanism.then([[share, 1 - share] for share in inside]), prior)[0])
