"""From a design to its exact optimum: what can be solved exactly, and why not where it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from leakwise.alphabet import Label
from leakwise.errors import InvalidInput, NotConverged
from leakwise.exact import Level, LogSum
from leakwise.exact.proven_mixture import Column, Optimum, proven, proven_mixture
from leakwise.optimize.exact_optimum.result import ExactOptimum
from leakwise.optimize.exact_optimum.worth import KNOWN, weighted_gains, worth_of
from leakwise.optimize.finish.outcome_names import distinct, outcome_names
from leakwise.optimize.pricing.extreme_columns import extreme_columns
from leakwise.optimize.pricing.vertex_list import vertex_count_bound
from leakwise.optimize.problem.utility import with_mass
from leakwise.priors import Prior
from leakwise.proof import OptimalityClaim
from leakwise.types import Array, Floats

if TYPE_CHECKING:
    from leakwise.optimize.design_result import Design

__all__ = ["exact_optimum", "is_optimal_at"]

_MOST_COLUMNS = 25_000  # twelve values have no more at any lift
_NEAR = 1e-6  # columns whose reduced cost is so close to zero by the duals of the search are tried first


def exact_optimum(design: Design) -> ExactOptimum:
    """Return the exact optimum of what was designed for; what that cannot be done for is refused."""
    asked, claim = _asked(design)
    prior = with_mass(design.prior.nominal)
    p, t = prior.fractions, asked.below
    count = vertex_count_bound(len(prior), prior.region(lift=t))
    if count > _MOST_COLUMNS:
        raise InvalidInput(
            f"exact looks at every extreme column, and {len(prior)} values at {asked.words} have up to {count:,}; at "
            f"most {_MOST_COLUMNS:,} are looked at. The design itself is proven to be within {design.gap:.2g} of the "
            "optimum (d.gap); ask for the exact one with fewer values or a limit nearer to 1."
        )
    gains = None if claim.gains is None else claim.gains[design.prior.nominal.support]
    worth = worth_of(claim.utility, p, gains)
    columns = _extreme(prior, t)
    worths = [worth(column) for column in columns]
    found = proven_mixture(columns, worths, _likely(columns, worths, claim.duals))
    if found is None:
        raise NotConverged(
            "exact: the simplex method in fractions did not end at an optimal basis. The design itself is proven as "
            "it is: d.value and d.bound hold.",
            lower=design.value,
            upper=design.bound,
        )
    order = sorted(range(len(p)), key=lambda row: found.weights[row] == 0)
    basis = [(found.basis[row], found.weights[row]) for row in order]
    used, weights = zip(*((columns[k], q) for k, q in basis if q), strict=True)
    return ExactOptimum(
        prior,
        t,
        claim.utility,
        _plain(sum(found.duals, start=LogSum())),
        _array(used),
        weights,
        tuple(map(_plain, found.duals)),
        _array([columns[k] for k in found.tight]),
        None if any(k < 0 for k, _ in basis) else _array([columns[k] for k, _ in basis]),
        _names(used, prior, claim, gains),
        gains,
    )


def is_optimal_at(best: ExactOptimum, lift: Fraction, basis: Sequence[Column]) -> bool:
    """Return whether columns are extreme at a lift and an optimal basis there."""
    columns = _extreme(best.prior, lift)
    place = {column: k for k, column in enumerate(columns)}
    if any(column not in place for column in basis):
        return False
    worth = worth_of(best.utility, best.prior.fractions, best.gains)
    found = proven(columns, [worth(column) for column in columns], [place[column] for column in basis])
    return isinstance(found, Optimum)


def _extreme(prior: Prior, lift: Fraction) -> list[Column]:
    return [tuple(column) for column in extreme_columns(prior, lift=lift).T.tolist()]


def _asked(design: Design) -> tuple[Level, OptimalityClaim]:
    """The limit and the claim of a design whose optimum can be found exactly."""
    certificate = design.certificate
    claim, asked = certificate.optimality, certificate.asked
    words = None
    if not isinstance(design.prior, Prior):
        words = "a single prior, and this design is for a set of priors"
    elif claim is None:
        why = "" if certificate.remark is None else f" ({certificate.remark})"
        words = f"a design whose certificate proves how good it is, and that for {design.utility} does not{why}"
    elif asked is None or certificate.further or claim.low or claim.ldp is not None or claim.kept is not None:
        words = f"a limit on the lift alone (lift= or epsilon=), and this design has others ({design.constraint})"
    elif claim.utility not in KNOWN:
        words = (
            f"a utility that is rational or made of logarithms ({', '.join(KNOWN)}), and {design.utility} is not: it "
            "has roots, or is no sum over outcomes"
        )
    if words is not None or claim is None or asked is None:
        raise InvalidInput(f"exact needs {words}. d.value, d.bound and d.gap hold all the same.")
    return asked, claim


def _likely(columns: Sequence[Column], worths: Sequence[LogSum], duals: Floats) -> list[int]:
    """The columns that the duals of the search hardly rule out."""
    if len(duals) != len(columns[0]):
        return []
    gaps = np.array([float(one) for one in worths]) - np.array(columns, dtype=np.float64) @ duals
    # Those next to them complete the basis where few outcomes do.
    count = int((gaps > gaps.max() - _NEAR).sum()) + 4 * len(duals)
    return np.argsort(-gaps, kind="stable")[:count].tolist()  # type: ignore[no-any-return]


def _names(used: Sequence[Column], prior: Prior, claim: OptimalityClaim, gains: Floats | None) -> tuple[Label, ...]:
    """What outcomes are called: by what is best said, or by the values that they raise."""
    if claim.utility not in ("guessing", "gain"):
        return tuple(outcome_names(np.array(used, dtype=np.float64).T, prior.labels))
    weighted = weighted_gains(prior.fractions, gains)
    said = [
        max(range(len(weighted)), key=lambda w: sum(g * x for g, x in zip(weighted[w], column, strict=True)))
        for column in used
    ]
    labels = prior.labels if claim.guesses is None else claim.guesses
    return tuple(distinct(labels[w] if w < len(labels) else w for w in said))


def _plain(value: LogSum) -> Fraction | LogSum:
    return value if value.rational is None else value.rational


def _array(columns: Sequence[Column]) -> Array:
    found = np.empty((len(columns[0]), len(columns)), dtype=np.object_)
    for place, column in enumerate(columns):
        found[:, place] = column
    return found
