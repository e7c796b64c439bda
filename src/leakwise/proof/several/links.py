"""Whether each part of a proof about several secrets is about what was known once the earlier outcomes were drawn."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from leakwise.alphabet import joined
from leakwise.errors import CertificateRejected
from leakwise.exact import Level
from leakwise.guarantee import at_most
from leakwise.priors import AllPriors, Box, Prior, PriorByStratum, PriorSet
from leakwise.priors.sets.rounded import RoundedLayerCake
from leakwise.proof.sets import least_mass_prover

__all__ = [
    "EIGHTHS",
    "LIFTS",
    "Known",
    "check_implied",
    "check_possible",
    "columns_in_words",
    "failure_of",
    "follows",
    "given_of",
    "lift_of_few_digits",
    "mechanisms_possible",
    "roundings",
    "sets_of",
    "shares_of_a_total",
    "uncovered",
]

Known = PriorSet | PriorByStratum
EIGHTHS = 8
"""Parts that frequencies are rounded to where they decide how a total is shared out."""
_DIGITS, _LEAST, _MOST = 3, -6, 7  # of what a lift that rows decide is above 1, and the powers of ten it is between
LIFTS = (_MOST - _LEAST) * 9 * 10 ** (_DIGITS - 1)
"""How many lifts there are of so few digits: among them is every one that frequencies of rows decide."""


def sets_of(known: Known) -> Iterator[PriorSet]:
    """The sets of priors of all strata, or the one that there is."""
    return (known[key] for key in known) if isinstance(known, PriorByStratum) else iter([known])


def given_of(known: Known) -> tuple[Hashable, ...]:
    """The columns that priors are by."""
    return known.given if isinstance(known, PriorByStratum) else ()


def failure_of(known: Known) -> Fraction:
    """Return the probability that a sample misleads about priors, those of all strata together."""
    return sum((getattr(one, "exact_failure", Fraction(0)) for one in sets_of(known)), Fraction(0))


def columns_in_words(names: Iterable[Hashable]) -> str:
    """Return columns as in a sentence, also where there are none."""
    found = list(names)
    return joined(found) if found else "nothing"


def uncovered(known: Known, alone: Known | None, earlier: Iterable[Hashable]) -> list[Hashable]:
    """Return the columns of earlier secrets whose outcomes a part does not account for.

    It does where its priors are by them, where they are all priors, or where they are those that earlier guarantees
    leave possible (``alone`` is then what was known before them).
    """
    if alone is not None or all(isinstance(one, AllPriors) for one in sets_of(known)):
        return []
    return [name for name in earlier if name not in given_of(known)]


def roundings(rows: int, letters: int) -> int:
    """Return how many ways rounded frequencies of so many values can come out, at most.

    They are positive parts, about w = √rows in all and at most w + N of them: at most (w + N over N) ways.
    """
    whole = max(2, min(max(math.isqrt(rows), 2 * letters), max(2, rows // 4)))
    return math.comb(whole + letters, letters)


def shares_of_a_total(letters: Iterable[int]) -> int:
    """Return how many ways a total can have been shared out, by frequencies rounded to eighths, at most."""
    return math.prod(math.comb(EIGHTHS + size, size) for size in letters)


def lift_of_few_digits(lift: Fraction) -> Fraction:
    """Return the least lift, not below the one given, that has three digits in what it is above 1.

    >>> [float(lift_of_few_digits(Fraction(one))) for one in ("1.43461", "2.7", "8.19501", "1")]
    [1.435, 2.7, 8.2, 1.000001]
    """
    room = max(lift - 1, Fraction(10) ** _LEAST)
    scale = Fraction(10) ** (_DIGITS - 1 - next(power for power in range(_LEAST, 400) if room < 10 ** (power + 1)))
    return 1 + math.ceil(room * scale) / scale


def check_possible(known: Known, possible: int, name: str, *, shares: int, found: list[Level | None]) -> None:
    """Refuse a part that forgets mechanisms which the rows could have chosen.

    Frequencies of the rows may also have decided how a total was shared out, in so many ways (``shares``), and a lift
    that was ``found`` for margins, which then is one of :data:`LIFTS`.
    """
    least = mechanisms_possible(known) * shares * LIFTS ** len(found)
    if possible < least:
        raise CertificateRejected(
            f"The proof about {name} counts {possible:,} mechanisms that its rows could have chosen, and there may be "
            f"{least:,}: the failure probability of later parts is larger. Do not rely on it."
        )
    for one in found:
        lift = None if one is None else one.below
        if lift is None or lift != lift_of_few_digits(lift) or lift >= 1 + 10**_MOST:
            raise CertificateRejected(
                f"The lift of {name} was found by the rows of the table and is not one of three digits: more "
                "mechanisms than are counted could have been chosen. Do not rely on the certificate."
            )


def mechanisms_possible(known: Known) -> int:
    """Return how many mechanisms a stratum can have had, that follow from rounded frequencies of its rows; at least 1.

    Later outcomes are counted beside the outcomes of one of them, and nobody knew beforehand of which: a bound that
    fails with probability δ for each fails with at most so many times δ for the one that was chosen.
    """
    sets = [(one, one.rows if isinstance(one, RoundedLayerCake) else one.nominal.sample_size) for one in sets_of(known)]
    sizes = [(rows, len(one.nominal)) for one, rows in sets if rows is not None]
    return max((roundings(*one) for one in sizes), default=1)


def check_implied(known: Known, alone: Known, lift: Fraction, anyone: Fraction | None, name: str) -> None:
    """Refuse priors of a later secret that leave out some which the earlier outcomes can make of what was known.

    Every function of the row has a lift of at most t from the earlier outcomes, and of at least 1/a with a limit for
    anyone: P(s | u, y) ≤ t P(s | u) and ≥ P(s | u)/a.
    """
    if given_of(known) != given_of(alone):
        raise CertificateRejected(
            f"The priors of {name} are by {columns_in_words(given_of(known))}, and what was known before by "
            f"{columns_in_words(given_of(alone))}."
        )
    if isinstance(known, PriorByStratum) and isinstance(alone, PriorByStratum):
        if set(known) != set(alone):
            raise CertificateRejected(f"The priors of {name} and what was known before are of other strata.")
        pairs = [(known[key], alone[key]) for key in known]
    else:
        assert isinstance(known, PriorSet)
        assert isinstance(alone, PriorSet)
        pairs = [(known, alone)]
    for now, before in pairs:
        if not isinstance(now, AllPriors) and not _contains(now, before, lift, anyone):
            raise CertificateRejected(
                f"The priors of {name} leave out some that the earlier outcomes, which make guesses up to "
                f"{at_most(lift)} times as likely, can lead to. Do not rely on the certificate."
            )


def _contains(now: PriorSet, before: PriorSet, lift: Fraction, anyone: Fraction | None) -> bool:
    if not isinstance(now, Box) or now.beta is not None or now.labels != before.labels:
        return False
    prove = None if isinstance(before, Prior) else least_mass_prover(before)
    for place, (low, high) in enumerate(zip(now.lower, now.upper, strict=True)):
        alone = [int(other == place) for other in range(len(before.nominal))]
        if prove is None:
            least = most = before.nominal.fractions[place]
        else:
            least, most = prove(alone), 1 - prove([1 - one for one in alone])
        if high < min(Fraction(1), lift * most) or low > (Fraction(0) if anyone is None else least / anyone):
            return False
    return True


def follows(known: Known, seen: Mapping[Hashable, Any], weights: Mapping[Any, int]) -> bool:
    """Whether a prior is one of those that a part is about."""
    if isinstance(known, PriorByStratum):
        parts = tuple(seen[name] for name in known.given)
        key = parts[0] if len(parts) == 1 else parts
        if key not in known:
            return True  # such rows have the mechanism for every prior, or none
        known = known[key]
    if isinstance(known, AllPriors):
        return True
    total = sum(weights.values())
    masses = [Fraction(weights.get(label, 0), total) for label in known.labels]
    if isinstance(known, Box):
        return all(low <= mass <= high for low, mass, high in zip(known.lower, masses, known.upper, strict=True))
    return isinstance(known, Prior) and list(known.fractions) == masses
