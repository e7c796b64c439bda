"""Whether several secrets are better released by one mechanism for all of them: what each way would give an analyst.

The most likely frequencies of all combinations have covariance (J⁻¹ - θθᵀ)/m from m rows, with J the information of one
row about them (the mathematics, section 2), whatever the outcomes are: those of one mechanism, or of several in turn.
So both ways are compared on the same footing: for the table of all combinations, and for each secret alone.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.alphabet import Label, joined
from leakwise.charts.shown import Parts, Shown, Table
from leakwise.errors import LeakwiseWarning
from leakwise.exact import level
from leakwise.guarantee import at_most, percent
from leakwise.leakage.rows.joint import Row, Secret, secret_name, secrets_of, strata_of
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.priors import Prior, PriorByStratum, PriorSet, as_prior
from leakwise.proof import AskedLimits
from leakwise.types import Floats
from leakwise.workflow.limits import TEN_TIMES, release_limits

__all__ = ["Copied", "JointAdvice", "joint_advice"]

# Combinations of values that one mechanism is designed for, and joint outcomes of several that are listed.
_MOST_VALUES, _MOST_OUTCOMES = 400, 200_000
# Strata that are looked at, the heaviest ones.
_STRATA = 3
# Standard errors that are this much smaller are worth a word, and this much larger a warning.
_BETTER, _WORSE = 0.9, 1.1
# A secret is nearly a copy of another: right so often, and wrong in so few of the cases of the best guess without.
_RIGHT, _LEFT_WRONG = 0.9, 0.2


@dataclass(frozen=True)
class Copied:
    """A secret that says what another one is: how often the best guess is right with it, and without."""

    secret: Hashable
    by: Hashable
    right: float
    without: float

    @property
    def words(self) -> str:
        """That in a sentence."""
        says, them = ("say", "them") if isinstance(self.by, tuple) else ("says", "it")
        return (
            f"{secret_name(self.by)} nearly {says} what {secret_name(self.secret)} is: the best guess from {them} is "
            f"right for {percent(self.right)} of the rows, and for {percent(self.without)} without {them}."
        )


@dataclass(frozen=True, repr=False)
class JointAdvice(Shown):
    """Standard errors by one mechanism for all secrets together, compared with those by one after the other.

    Attributes
    ----------
    table
        The error of the frequencies of all combinations together, by one mechanism over that by several.
    secrets
        The same for each secret alone.
    total
        The lift of any guess about the row, the same both ways.
    copies
        Secrets that nearly say what others are.
    """

    table: float
    secrets: Mapping[Any, float]
    total: float
    copies: tuple[Copied, ...] = ()

    @property
    def better(self) -> bool:
        """Whether one mechanism is clearly better for the combinations, or a secret, and for nothing clearly worse."""
        all_of_them = [self.table, *self.secrets.values()]
        return min(all_of_them) <= _BETTER and max(all_of_them) <= _WORSE

    @property
    def words(self) -> str:
        """What one mechanism for all would do, in a sentence or two, after secrets that nearly copy each other."""
        told = [one.words for one in self.copies]
        each = joined(f"{_times(one)} for {secret_name(key)}" for key, one in self.secrets.items())
        start = (
            "One mechanism for all of them together (joint=True, --joint) would have standard errors "
            f"{_times(self.table)} for the table of all combinations, {each}, at the same lift of "
            f"{at_most(self.total)} for the row; a guess about one of them alone may then become as much more likely."
        )
        return " ".join([*told, start if self.better or self.copies else f"{start} That is not better for all."])

    def _shown(self) -> Parts:
        rows: list[list[object]] = [["all combinations", f"{self.table:.3g}"]]
        rows += [[secret_name(key), f"{one:.3g}"] for key, one in self.secrets.items()]
        return [Table(["frequencies of", "standard error, times that of one after the other"], rows, self.words)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "better": self.better,
            "table": self.table,
            "secrets": {secret_name(key): one for key, one in self.secrets.items()},
            "total": self.total,
            "copies": [
                {
                    "secret": secret_name(one.secret),
                    "by": secret_name(one.by),
                    "right": one.right,
                    "without": one.without,
                }
                for one in self.copies
            ],
        }


def _times(ratio: float) -> str:
    return "as they are" if abs(ratio - 1) < 0.005 else f"{ratio:.2g} times as large"


def joint_advice(
    prior: Any,
    mechanisms: Mapping[Any, Mechanism | StratifiedMechanism],
    total: object,
    *,
    anyone: Any = TEN_TIMES,
    failure: object = None,
    seconds: float = 5.0,
) -> JointAdvice | None:
    """Compare the mechanisms of several secrets with one for all of them together, at the same total.

    Parameters
    ----------
    prior
        The joint distribution of the secrets, as for :func:`leakwise.measures.row_lift`: a Prior over tuples, or one
        for each stratum, of which the heaviest count. For ``prior="table"`` that of the counts.
    mechanisms
        From each secret to its mechanism, in the order in which they are drawn; later ones may be by the outcomes of
        earlier ones.
    total
        The lift of any guess about the row: the product of the lifts, or what was asked for.
    anyone
        The limit for anyone of the one mechanism; ten times the total by default.
    failure
        For a prior that was counted in the table: the probability that it misleads, so that the one mechanism is
        designed for every prior that the rows leave possible, as those of the secrets were.
    seconds
        For each design.

    Returns
    -------
    JointAdvice or None
        None where there are more than 400 combinations of values, where the outcomes are too many to list, or where
        neither way determines the frequencies.

    Examples
    --------
    >>> import leakwise as lw
    >>> joint = lw.Prior({("no", "f"): 0.4, ("no", "m"): 0.3, ("yes", "f"): 0.1, ("yes", "m"): 0.2})
    >>> smokes, sex = (lw.randomized_response(names, lift=2) for names in (["no", "yes"], ["f", "m"]))
    >>> found = joint_advice(joint, {"smokes": smokes, "sex": sex}, 4)
    >>> print(f"{found.table:.2f} of the standard error")
    0.22 of the standard error
    """
    known: Prior | PriorByStratum = prior if isinstance(prior, PriorByStratum) else as_prior(prior)
    secrets, places = secrets_of(known, mechanisms)
    outcomes = math.prod(one.most_outcomes for one in secrets)
    if len(secrets) < 2 or len(known.labels) > _MOST_VALUES or outcomes > _MOST_OUTCOMES:
        return None
    weights = [1.0] if isinstance(known, Prior) else [float(known.weights[key]) for key in known]
    sizes = [known.sample_size] if isinstance(known, Prior) else [known.sample_sizes[key] for key in known]
    rows = list(strata_of(known, secrets, places))
    heaviest = sorted(range(len(rows)), key=lambda place: -weights[place])[:_STRATA]
    limit = level(lift=total)
    in_turn, together = np.zeros(len(secrets) + 1), np.zeros(len(secrets) + 1)
    for place in heaviest:
        row = rows[place]
        in_turn += weights[place] * _variances(row, _in_turn(secrets, row))
        limits = release_limits(lift=limit.below, anyone=anyone)
        size = None if failure is None else sizes[place]
        together += weights[place] * _variances(row, _together(row, limits, size, failure, seconds))
    if not np.isfinite(in_turn[0]) or not np.isfinite(together[0]) or not in_turn.all():
        return None
    ratios = np.sqrt(together / in_turn)
    names = list(mechanisms)
    return JointAdvice(
        float(ratios[0]),
        {name: float(one) for name, one in zip(names, ratios[1:], strict=True)},
        float(limit.above),
        tuple(_copies(names, [(weights[place], rows[place]) for place in heaviest])),
    )


def _in_turn(secrets: Sequence[Secret], row: Row) -> Iterator[Floats]:
    """The probabilities of joint outcomes for all combinations, in blocks."""
    shape = row.weights.shape

    def follow(place: int, seen: tuple[Label, ...], likely: Floats) -> Iterator[Floats]:
        column = secrets[place].column(row.given, seen)
        table = (column.weights / column.mechanism.denominator).astype(np.float64)
        # One row for each outcome, over all combinations.
        axes = [1] * len(shape)
        axes[place] = shape[place]
        spread = np.stack([np.broadcast_to(one.reshape(axes), shape).ravel() for one in table.T])
        if place == len(secrets) - 1:
            yield likely * spread
            return
        for outcome, one in zip(column.mechanism.outputs, spread, strict=True):
            if one.any():
                yield from follow(place + 1, (*seen, outcome), likely * one)

    yield from follow(0, (), np.ones(math.prod(shape)))


def _together(row: Row, limits: AskedLimits, rows: int | None, failure: object, seconds: float) -> Iterator[Floats]:
    """The same for the best mechanism for all combinations together."""
    from leakwise.optimize import design

    flat = [int(one) for one in row.weights.flat]
    some = [place for place, one in enumerate(flat) if one or rows is not None]
    known: PriorSet = Prior.from_integers(some, [flat[place] for place in some], rows)
    if rows is not None:
        known = known.nominal.confidence(failure, "layer-cake")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakwiseWarning)  # how far it is from the best does not matter here
        found = design(known, limits, utility="frequencies", time_limit=seconds).mechanism
    likely = np.zeros((found.shape[1], len(flat)))
    likely[:, some] = found.matrix.T
    yield likely


def _variances(row: Row, blocks: Iterator[Floats]) -> Floats:
    """The summed variances, for one row, of the frequencies of all combinations and of those of each secret.

    Infinite where the outcomes do not determine them.
    """
    law = row.probabilities()
    some = np.flatnonzero(law.ravel() > 0)
    theta = law.ravel()[some]
    information = np.zeros((some.size, some.size))
    for block in blocks:
        likely = block[:, some]
        chances = likely @ theta
        likely, chances = likely[chances > 0], chances[chances > 0]
        information += (likely / chances[:, None]).T @ likely
    values, vectors = np.linalg.eigh(information)
    known = values > 1e-10 * values[-1]
    inverse = (vectors[:, known] / values[known]) @ vectors[:, known].T
    blind = vectors[:, ~known]
    found = [float(np.trace(inverse) - theta @ theta) if known.all() else math.inf]
    for place, size in enumerate(law.shape):
        codes = np.indices(law.shape)[place].ravel()[some]
        summed = (codes[None, :] == np.arange(size)[:, None]).astype(np.float64)
        if blind.size and np.abs(summed @ blind).max() > 1e-6:
            found.append(math.inf)
        else:
            margin = summed @ theta
            found.append(float(np.trace(summed @ inverse @ summed.T) - margin @ margin))
    return np.array(found)


def _copies(names: Sequence[Hashable], rows: Sequence[tuple[float, Row]]) -> Iterator[Copied]:
    """Secrets that another one nearly says, each once."""
    whole = sum(weight for weight, _ in rows)
    for place, name in enumerate(names):
        for other, by in enumerate(names):
            if other == place:
                continue
            right = without = 0.0
            for weight, row in rows:
                law = row.probabilities()
                pair = law.sum(axis=tuple(at for at in range(law.ndim) if at not in (place, other)))
                pair = pair if other < place else pair.T  # a row for each value of the other secret
                right += weight / whole * float(pair.max(axis=1).sum())
                without += weight / whole * float(pair.sum(axis=0).max())
            if right >= _RIGHT and 1 - right <= _LEFT_WRONG * (1 - without) and without < 1:
                yield Copied(name, by, min(right, 1.0), min(without, 1.0))
                break
