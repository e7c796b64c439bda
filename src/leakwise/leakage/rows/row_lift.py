"""row_lift(): what several mechanisms in turn reveal about a row together, exactly."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from leakwise.alphabet import Label, label_to_plain
from leakwise.charts.shown import Parts, Shown, Table
from leakwise.errors import InvalidInput
from leakwise.exact import float_above, float_below
from leakwise.guarantee import at_least, at_most
from leakwise.leakage.rows.joint import Row, Secret, secret_name, secrets_of, strata_of
from leakwise.leakage.rows.maximum import LargestLift, largest_lift
from leakwise.leakage.rows.passes import Passes
from leakwise.leakage.rows.tree_lift import tree_lift
from leakwise.leakage.rows.tree_prior import TreePrior
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.priors import PriorByStratum, as_prior

__all__ = ["RowLift", "row_lift"]

# Multiplications of one pass, and of those for all single secrets and pairs.
_MOST_WORK, _MOST_FURTHER = 500_000_000, 1_000_000_000
# Products of probabilities below this could lose digits as floats.
_LEAST = Fraction(1, 1 << 900)


@dataclass(frozen=True, repr=False)
class RowLift(Shown):
    """What all outcomes of a row together reveal to anyone who sees them beside the given columns.

    Attributes
    ----------
    row
        The largest lift of any guess about the row: about any function of its secrets.
    secrets, pairs
        The same for guesses about one secret, and about two of them.
    steps
        What each mechanism adds beside the outcomes before it: its largest lift, rounded up. Empty where nothing
        bounds it.
    """

    row: LargestLift
    secrets: Mapping[Hashable, LargestLift]
    pairs: Mapping[tuple[Hashable, Hashable], LargestLift]
    steps: Mapping[Hashable, Fraction]

    @property
    def product(self) -> Fraction | None:
        """The product of what each mechanism adds, never below the truth; None where nothing bounds it."""
        return math.prod(self.steps.values(), start=Fraction(1)) if self.steps else None

    @property
    def lift(self) -> Fraction:
        """No guess about the row becomes more likely than by this factor: the least number that is proven."""
        product = self.product
        return self.row.upper if product is None else min(self.row.upper, product)

    def _shown(self) -> Parts:
        told = [("the whole row", self.row), *((secret_name(key), one) for key, one in self.secrets.items())]
        if len(self.secrets) > 2:
            told += [(f"{secret_name(one)}, {secret_name(two)}", found) for (one, two), found in self.pairs.items()]
        rows = [
            [name, at_most(one.upper), "exact" if one.exact else f"at least {at_least(one.lower)}", _said(one.outcomes)]
            for name, one in told
        ]
        title = (
            f"All outcomes of a row together: no guess about the row becomes more than {at_most(self.lift)} times as "
            "likely for anyone who knew the prior."
        )
        if (product := self.product) is not None:
            title += f" The mechanisms one by one, multiplied: {at_most(product)}."
        return [Table(["guess about", "lift", "", "from the outcomes"], rows, title)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "lift": float_above(self.lift),
            "product": None if self.product is None else float_above(self.product),
            "row": _plain(self.row),
            "secrets": {secret_name(key): _plain(one) for key, one in self.secrets.items()},
            "pairs": {f"{secret_name(a)}, {secret_name(b)}": _plain(one) for (a, b), one in self.pairs.items()},
            "steps": {secret_name(key): float_above(one) for key, one in self.steps.items()},
        }


def _said(labels: tuple[Label, ...]) -> str:
    return ", ".join(map(str, labels))


def _plain(one: LargestLift) -> dict[str, Any]:
    return {
        "lower": float_below(one.lower),
        "upper": float_above(one.upper),
        "exact": one.exact,
        "outcomes": [label_to_plain(label) for label in one.outcomes],
        "values": [label_to_plain(label) for label in one.values],
        "given": [label_to_plain(label) for label in one.given],
    }


def row_lift(
    prior: Any, mechanisms: Mapping[Any, Mechanism | StratifiedMechanism], *, pairs: bool = True, seconds: float = 20.0
) -> RowLift:
    r"""Return the largest lift of any guess about a row from the outcomes of several mechanisms together.

    :math:`\max_{y, s} \prod_i P_i(y_i | s_i, u, y_{<i}) / P(y | u)` over all joint outcomes and all rows that can
    occur; for one secret and for pairs the same with P(y | s_i, u). Exact where the rows have at most two million
    combinations of values, otherwise rounded outwards by 10⁻¹² or less. It is never above the product of what the
    mechanisms add one by one (the mathematics, section 8), and often far below.

    Parameters
    ----------
    prior
        The joint distribution of the secrets: a Prior over tuples with a value for each secret (or for each of their
        columns), in the order of the mechanisms; or one for each stratum (:class:`PriorByStratum`): then the largest
        lift over all strata is found, for anyone who sees the given columns. Or a :class:`TreePrior` for many columns:
        then the largest lift of the row is found between two numbers.
    mechanisms
        From each secret, a column or a tuple of columns, to its mechanism, in the order in which they are drawn, such
        as ``protect(...).mechanism`` of several secrets. A stratified one is by given columns of the prior and by
        columns of earlier secrets, which stand for their outcomes.
    pairs
        Whether pairs are looked at, too.
    seconds
        For a tree: how long the upper bound is improved, in seconds of one core.

    Examples
    --------
    >>> import leakwise as lw
    >>> joint = lw.Prior({("no", "f"): 40, ("no", "m"): 30, ("yes", "f"): 5, ("yes", "m"): 25})
    >>> first, second = (lw.randomized_response(names, lift=3) for names in (["no", "yes"], ["f", "m"]))
    >>> found = row_lift(joint, {"smokes": first, "sex": second})
    >>> f"{float(found.row.upper):.3f} for the row, {float(found.secrets['smokes'].upper):.3f} for smokes alone"
    '3.333 for the row, 2.162 for smokes alone'
    """
    if isinstance(prior, TreePrior):
        whole, added = tree_lift(prior, mechanisms, seconds=seconds)
        return RowLift(whole, {}, {}, added)
    known = prior if isinstance(prior, PriorByStratum) else as_prior(prior)
    secrets, places = secrets_of(known, mechanisms)
    largest: dict[tuple[int, ...], LargestLift] = {}
    steps = [0.0] * len(secrets)
    asked: list[tuple[int, ...]] = [(place,) for place in range(len(secrets))] if len(secrets) > 1 else []
    asked += [*itertools.combinations(range(len(secrets)), 2)] if pairs and len(secrets) > 2 else []
    error = 0.0
    for row in strata_of(known, secrets, places):
        passes = Passes(secrets, row)
        _refuse_large(passes)
        _refuse_tiny(secrets, row)
        error = max(error, passes.error)
        _larger(largest, (), largest_lift(passes, (), steps))
        left = _MOST_FURTHER
        for group in asked:
            left -= passes.work(group)
            if left >= 0:
                _larger(largest, group, largest_lift(passes, group))
            else:
                # A guess about some secrets is one about the row.
                whole = largest[()]
                _larger(largest, group, replace(whole, lower=Fraction(1), values=()))
    names = list(mechanisms)
    if len(secrets) == 1:
        largest[0,] = largest[()]
    if len(secrets) == 2 and pairs:
        largest[0, 1] = largest[()]
    return RowLift(
        largest[()],
        {names[place]: largest[place,] for place in range(len(names))},
        {(names[one], names[two]): found for (one, two), found in _pairs(largest)},
        {name: max(Fraction(1), Fraction(step * (1 + 2 * error))) for name, step in zip(names, steps, strict=True)},
    )


def _pairs(largest: Mapping[tuple[int, ...], LargestLift]) -> list[tuple[tuple[int, int], LargestLift]]:
    return [((group[0], group[1]), one) for group, one in largest.items() if len(group) == 2]


def _larger(largest: dict[tuple[int, ...], LargestLift], group: tuple[int, ...], found: LargestLift) -> None:
    """Keep the larger of two, and for both ends what holds for all strata."""
    before = largest.get(group)
    if before is None:
        largest[group] = found
        return
    best = max(before, found, key=lambda one: one.upper)
    largest[group] = replace(best, lower=max(before.lower, found.lower))


def _refuse_large(passes: Passes) -> None:
    if (work := passes.work()) > _MOST_WORK:
        raise InvalidInput(
            f"The joint outcomes of {len(passes.secrets)} secrets would take {work:.2g} multiplications, more than "
            f"{_MOST_WORK:.1g}. Ask for fewer secrets at once, coarsen them, or give a lw.measures.TreePrior; the "
            "product of what the mechanisms add one by one holds all the same."
        )


def _refuse_tiny(secrets: list[Secret], row: Row) -> None:
    """Refuse probabilities so small that products of them are no floats."""
    least = row.least() / math.prod(one.widest for one in secrets)
    if least < _LEAST:
        raise InvalidInput(
            "The probabilities of the prior and the mechanisms are so small (products below 1e-270) that the lift "
            "cannot be computed. Round the mechanisms (mechanism.dyadic(60)), or the prior."
        )
