"""The worst outcome of a mechanism by its number, also where outcomes are sets of values, too many to list.

A set S of s values weighs a for a value in it and b ≤ a for any other, so that its law is b + (a-b)·π(S) and its
largest lift a / (b + (a-b)·π(S)), that of a value in it. Among the sets of one size the worst one has the least
probable values, at least one of them possible. The number of a set is that of its bits, the first value's first.
"""

from __future__ import annotations

from fractions import Fraction

from leakwise.alphabet import Label
from leakwise.errors import InvalidInput
from leakwise.mechanism import Mechanism, SetMechanism
from leakwise.priors import Prior, PriorSet
from leakwise.proof.ratio import WorstOutcome, every_prior_ratio, lift_at, worst_outcome

__all__ = ["lift_of_outcome", "name_of_outcome", "number_of_outcome", "worst_of", "worst_of_anyone"]


def worst_of(mechanism: Mechanism, priors: PriorSet) -> WorstOutcome:
    """Return the outcome with the largest lift."""
    if not isinstance(mechanism, SetMechanism):
        return worst_outcome(mechanism.kernel, priors)
    weights, count = _weights(priors), mechanism.shape[0]
    total = sum(weights)
    rare = sorted(range(count), key=lambda value: (weights[value], value))
    first = next(value for value in rare if weights[value])
    others = [value for value in rare if value != first]
    worst, chosen = Fraction(0), frozenset[int]()
    for level in mechanism.levels:
        if not level.scale:
            continue
        here = frozenset([first, *others[: level.size - 1]]) if level.size else frozenset[int]()
        mass = sum(weights[value] for value in here)
        most = level.inside if here else level.outside
        law = level.inside * mass + level.outside * (total - mass)
        if law and Fraction(most * total, law) > worst:
            worst, chosen = Fraction(most * total, law), here
    number = sum(1 << (count - 1 - value) for value in chosen)
    return WorstOutcome(worst, number, first)


def lift_of_outcome(mechanism: Mechanism, priors: PriorSet, outcome: int, letter: int) -> Fraction | None:
    """Return the lift of one value at one outcome; None where it has none, or no bound."""
    if not isinstance(mechanism, SetMechanism):
        return lift_at(mechanism.kernel, priors, outcome, letter)
    weights, count = _weights(priors), mechanism.shape[0]
    inside = [value for value in range(count) if outcome >> (count - 1 - value) & 1]
    level = next((one for one in mechanism.levels if one.size == len(inside) and one.scale), None)
    if level is None or not weights[letter]:
        return None
    mass, total = sum(weights[value] for value in inside), sum(weights)
    law = level.inside * mass + level.outside * (total - mass)
    return Fraction((level.inside if letter in inside else level.outside) * total, law) if law else None


def worst_of_anyone(mechanism: Mechanism) -> tuple[Fraction | None, int]:
    """Return the lift that no prior whatever exceeds, and where it is reached; None where there is no bound."""
    if not isinstance(mechanism, SetMechanism):
        return every_prior_ratio(mechanism.kernel)
    count, best, size = mechanism.shape[0], Fraction(1), mechanism.levels[0].size
    for level in mechanism.levels:
        if 0 < level.size < count and level.scale * level.inside:
            if not level.outside:
                return None, _first(level.size, count)
            if Fraction(level.inside, level.outside) > best:
                best, size = Fraction(level.inside, level.outside), level.size
    return best, _first(size, count)


def number_of_outcome(mechanism: Mechanism, outcome: Label) -> int:
    """Return the number of an outcome."""
    if not isinstance(mechanism, SetMechanism):
        return mechanism.outputs.index(outcome)
    bits = mechanism.members([outcome])[0].tolist()
    return sum(1 << (len(bits) - 1 - value) for value, here in enumerate(bits) if here)


def name_of_outcome(mechanism: Mechanism, number: int) -> Label:
    """Return the outcome of a number."""
    if not isinstance(mechanism, SetMechanism):
        return mechanism.outputs[number]
    return "b" + format(number, f"0{mechanism.shape[0]}b")


def _first(size: int, count: int) -> int:
    """The number of the set of the first values."""
    return ((1 << size) - 1) << (count - size)


def _weights(priors: PriorSet) -> list[int]:
    if not isinstance(priors, Prior):
        raise InvalidInput(
            "The leakage of a mechanism with too many outcomes to list is certified for one prior. Got a set of "
            "priors: give anyone= (--anyone), a limit for every prior, and one prior of the set."
        )
    return [int(weight) for weight in priors.weights]
