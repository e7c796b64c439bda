"""From rows and a family to coefficients with their covariance, and what the data cannot tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leakwise.tables.estimate.joint.evidence import covariance
from leakwise.tables.estimate.regression.corrected import CorrectedScore
from leakwise.tables.estimate.regression.families import Response
from leakwise.tables.estimate.regression.likelihood import Categories, Likelihood, Outcome, Poisson
from leakwise.tables.estimate.regression.newton import maximize
from leakwise.tables.estimate.regression.rows import Rows, Seen
from leakwise.types import Bools, Floats

__all__ = ["Fitted", "by_likelihood", "fit"]

_UNKNOWN = 1e-9  # information that is left of what complete data would have, along a direction
_FAR = 12.0
_LOOKED_AT = 8  # rows whose functions of true values are looked at


@dataclass(frozen=True)
class Fitted:
    """Coefficients, their covariance, and how they were found.

    Attributes
    ----------
    coefficients, covariance
        Of the outcome alone, in the order (value of the outcome, term).
    unknown
        Which coefficients the released data do not determine.
    separated
        Whether the likelihood grows without end.
    degrees
        Degrees of freedom of the errors; None for a normal distribution.
    """

    coefficients: Floats
    covariance: Floats
    unknown: Bools
    separated: bool
    log_likelihood: float | None
    degrees: float | None
    errors: str
    converged: bool


def fit(
    matrices: Sequence[Floats],
    rows: Rows,
    outcome: Response,
    covariates: Sequence[Seen],
    describes: Floats,
    errors: str,
) -> Fitted:
    """Return the fit; ``errors`` is ``"information"`` or ``"sandwich"``."""
    if by_likelihood(outcome):
        return _most_likely(matrices, rows, outcome, covariates, describes, errors)
    return _corrected(matrices, rows, outcome, covariates, errors)


def by_likelihood(outcome: Response) -> bool:
    """Return whether a likelihood is maximised; otherwise corrected equations are solved, which assume less."""
    return outcome.family in ("logistic", "multinomial") or (outcome.family == "poisson" and outcome.seen is None)


def _most_likely(
    matrices: Sequence[Floats],
    rows: Rows,
    outcome: Response,
    covariates: Sequence[Seen],
    describes: Floats,
    errors: str,
) -> Fitted:
    likelihood = Likelihood(
        matrices,
        _outcome(outcome),
        rows.weight,
        [(_over_combinations(covariates, at), one.pair) for at, one in enumerate(covariates)],
        describes if covariates else np.zeros((rows.weight.size, 0)),
    )
    start = likelihood.start()
    if outcome.family == "poisson" and outcome.numbers is not None:
        level = np.log(max(float(rows.weight @ outcome.numbers) / float(rows.weight.sum()), 1e-6))
        size = matrices[0].shape[1]
        start[:size] = np.linalg.lstsq(matrices[0], np.full(rows.weight.size, level), rcond=None)[0]
    found = maximize(likelihood, start, float(rows.weight.sum()))
    size = likelihood.sizes[0]
    inverse, blind = _inverse(found.at.information, found.at.complete)
    spread = inverse
    if errors == "sandwich" or rows.design is not None:
        spread = covariance(rows.design, rows.entries, inverse @ likelihood.scores(found.parameters).T)
    reach = [np.abs(eta).max(axis=1) for eta in likelihood.predictors(found.parameters)]
    separated = outcome.family != "poisson" and _runs_away(matrices, reach, inverse[:size, :size], blind[:size])
    degrees = None if rows.design is None else rows.design.degrees
    return Fitted(
        found.parameters[:size],
        spread[:size, :size],
        blind[:size],
        separated,
        found.at.value,
        degrees,
        "sandwich" if errors == "sandwich" or rows.design is not None else "information",
        found.converged,
    )


def _outcome(outcome: Response) -> Outcome:
    if outcome.family == "poisson":
        from scipy.special import gammaln

        assert outcome.numbers is not None
        return Poisson(outcome.numbers, -gammaln(outcome.numbers + 1))
    if outcome.seen is not None:
        return Categories(outcome.seen.table(), outcome.seen.pair)
    assert outcome.places is not None
    return Categories(np.eye(len(outcome.labels)), outcome.places)


def _over_combinations(covariates: Sequence[Seen], at: int) -> Floats:
    """What one released covariate shows, pairs by combinations of all of them."""
    sizes = [len(one.axis.values) for one in covariates]
    places = np.unravel_index(np.arange(int(np.prod(sizes))), sizes)[at]
    return covariates[at].table()[:, places]


def _corrected(
    matrices: Sequence[Floats], rows: Rows, outcome: Response, covariates: Sequence[Seen], errors: str
) -> Fitted:
    assert outcome.numbers is not None
    t = outcome.numbers
    if outcome.seen is not None:
        t = (outcome.seen.undone(rows.weight) @ outcome.numbers)[outcome.seen.pair]
    shares = np.ones((rows.weight.size, 1))
    for one in covariates:
        part = one.undone(rows.weight)[one.pair]
        shares = (shares[:, :, None] * part[:, None, :]).reshape(rows.weight.size, -1)
    equation = CorrectedScore(matrices, shares, t, rows.weight, outcome.family == "poisson")
    beta, slope = equation.solve()
    inverse, blind = _inverse((slope + slope.T) / 2, (slope + slope.T) / 2)
    if _hidden(matrices, beta, equation, outcome, covariates):
        blind = np.ones(beta.size, dtype=np.bool_)
    plain = all(one.exact for one in [*covariates, *([outcome.seen] if outcome.seen else [])])
    scores = equation.scores(beta)
    if plain and rows.design is None and errors == "information" and outcome.family == "linear":
        degrees = rows.total - beta.size
        fitted = sum(share * (x @ beta) for share, x in zip(shares.T, matrices, strict=True))
        variance = float(rows.weight @ (t - fitted) ** 2) / max(degrees, 1)
        logs = -0.5 * rows.total * (np.log(2 * np.pi * variance * max(degrees, 1) / rows.total) + 1)
        return Fitted(beta, variance * inverse, blind, False, float(logs), degrees, "information", True)
    spread = covariance(rows.design, rows.entries, inverse @ scores.T)
    degrees_of = None if rows.design is None else rows.design.degrees
    return Fitted(beta, spread, blind, False, None, degrees_of, "sandwich", True)


def _hidden(
    matrices: Sequence[Floats], beta: Floats, equation: CorrectedScore, outcome: Response, covariates: Sequence[Seen]
) -> bool:
    """Whether the mechanisms hide what the equation is made of: functions of true values that are not given back."""
    if outcome.seen is not None and outcome.numbers is not None:
        functions = [(outcome.seen.given_back(equation.weight), outcome.numbers[:, None], 0)]
    else:
        functions = []
    if covariates:
        sizes = [len(one.axis.values) for one in covariates]
        rows = np.linspace(0, equation.outcome.size - 1, _LOOKED_AT).astype(np.intp)
        inside = np.stack([equation.functions(x[rows], beta) for x in matrices]).reshape(*sizes, -1)
        functions += [(one.given_back(equation.weight), inside, axis) for axis, one in enumerate(covariates)]
    for maps, values, axis in functions:
        moved = np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1)
        if any(np.abs(map_ @ moved - moved).max() > 1e-6 * max(np.abs(moved).max(), 1e-300) for map_ in maps):
            return True
    return False


def _inverse(information: Floats, complete: Floats) -> tuple[Floats, Bools]:
    """The inverse of the information, and which parameters lie in directions that have next to none of it."""
    scale = np.sqrt(np.maximum(np.diagonal(complete), 1e-300))
    system = information / np.outer(scale, scale)
    values, vectors = np.linalg.eigh((system + system.T) / 2)
    known = values > _UNKNOWN
    blind = np.asarray((np.abs(vectors[:, ~known]) > 1e-5).any(axis=1))
    inverse = (vectors[:, known] / values[known]) @ vectors[:, known].T
    return inverse / np.outer(scale, scale), blind


def _runs_away(matrices: Sequence[Floats], reach: Sequence[Floats], inverse: Floats, blind: Bools) -> bool:
    """Whether some row's predictor is far out and its error is larger than itself: nothing holds it back."""
    if blind.all():
        return False
    for x, size in zip(matrices, reach, strict=True):
        far = int(size.argmax())
        if size[far] > _FAR:
            width = x.shape[1]
            spread = max(
                float(x[far] @ inverse[at : at + width, at : at + width] @ x[far])
                for at in range(0, inverse.shape[0], width)
            )
            if np.sqrt(max(spread, 0.0)) > size[far] or bool(blind.any()):
                return True
    return False
