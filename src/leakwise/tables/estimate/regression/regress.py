"""Regression of true values from a released table: linear, logistic, multinomial and Poisson."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput, LeakwiseWarning, some_of
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.tables.databases.sql_table import SqlTable
from leakwise.tables.estimate.beside import mechanism_beside, released_beside
from leakwise.tables.estimate.estimate import check_confidence
from leakwise.tables.estimate.joint.axes import Axis, Lens
from leakwise.tables.estimate.joint.survey import Survey
from leakwise.tables.estimate.regression.describing import describing
from leakwise.tables.estimate.regression.families import Response, response
from leakwise.tables.estimate.regression.fit import Fitted, by_likelihood, fit
from leakwise.tables.estimate.regression.formula import ParsedFormula, matrices, parsed, read_frame
from leakwise.tables.estimate.regression.result import Regression
from leakwise.tables.estimate.regression.rows import Rows, Seen, gathered
from leakwise.tables.formats import is_path, open_table
from leakwise.tables.formats.carried_mechanism import carried_secrets, metadata_of
from leakwise.tables.kinds import frames
from leakwise.types import Floats

__all__ = ["regress"]

# Beyond it what the naive regression would have given is not computed beside.
_NAIVE_ROWS = 200_000


def regress(
    formula: str,
    released: Any,
    mechanisms: Mapping[Any, Mechanism | StratifiedMechanism] | None = None,
    *,
    family: str | None = None,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    errors: str = "information",
    confidence: float = 0.95,
    simultaneous: bool = False,
) -> Regression:
    r"""Fit a regression of true values to a released table: coefficients, intervals, predictions.

    Logistic and multinomial regressions (and Poisson with a true outcome) maximise the likelihood of what was released,
    :math:`\sum_s P(y|s) p(s|w) \sum_t P(z|t) p(t|s,w;\beta)`. Linear regressions, and Poisson with a released outcome,
    solve corrected estimating equations, which need no distribution of the unseen values; their errors are robust.

    Parameters
    ----------
    formula
        Such as ``"income ~ age + C(sex)"`` (formulaic). A formula is code: do not take one from a stranger.
    released
        A table with the columns of the formula, or the path of one, or a table of a database (:class:`SqlTable`).
    mechanisms
        A mapping from released columns to their mechanisms. Columns that it does not name are taken as they are, unless
        the file or Arrow table itself says how they were released (or a mechanism is next to a CSV).
    family
        ``"linear"``, ``"logistic"``, ``"multinomial"`` or ``"poisson"``. By default from the outcome: two values are
        logistic, for the *last* value of the mechanism; numbers are linear; other values multinomial.
    weights, strata, clusters
        Columns of a survey, as for :func:`estimate`: the errors are then those of the sandwich by clusters.
    errors
        ``"information"`` (observed) or ``"sandwich"``.
    confidence, simultaneous
        Of each interval, or of all intervals together (Bonferroni).

    Examples
    --------
    >>> from leakwise.mechanism import randomized_response
    >>> m = randomized_response(["no", "yes"], lift=4)
    >>> table = {"smokes": ["no"] * 40 + ["yes"] * 60 + ["no"] * 65 + ["yes"] * 35, "old": [1] * 100 + [0] * 100}
    >>> f = regress("smokes ~ old", table, {"smokes": m})
    >>> {term: round(value, 3) for term, value in f.coefficients.items()}
    {'Intercept': -1.099, 'old': 1.792}
    """
    check_confidence(confidence)
    if errors not in ("information", "sandwich"):
        raise InvalidInput(f"errors must be 'information' or 'sandwich'. Got {errors!r}.")
    what = parsed(formula)
    axes, inner = _axes(what, released, mechanisms)
    survey = Survey(weights, strata, clusters)
    plain = _plain_columns(what, axes)
    named = [one for one in (weights, strata, clusters) if one is not None and not frames.is_column(one)]
    columns = [*plain, *(name for axis in axes for name in axis.names), *named]
    texts = [name for axis in axes for name in axis.names if all(isinstance(one, str) for one in axis.outcomes.labels)]
    frame = read_frame(released, columns, texts)
    left_out = _left_out(what, axes, frame)
    rows = gathered(frame, axes, plain, survey, apart=False)
    if rows.design is not None:
        rows.design.warn_of_heavy()
    made, terms, spec = matrices(what, rows.frame, inner)
    if spec.transform_state and len(rows.frame) < len(frame):
        # Terms such as center(age) are computed from all rows, not from the distinct ones.
        rows = gathered(frame, axes, plain, survey, apart=True)
        made, terms, spec = matrices(what, rows.frame, inner)
    del frame
    outcome = response(what, rows, family)
    if by_likelihood(outcome):
        _warn_of_strata(left_out)
    others = [name for name in plain if name not in what.outcome_columns]
    describes = describing(rows.frame, others, len(made), rows.total) if inner else np.zeros((0, 0))
    covariates = [rows.released[axis.title] for axis in inner]
    found = fit(made, rows, outcome, covariates, describes, errors)
    keys = terms
    if outcome.family == "multinomial":
        keys = tuple((label, term) for label in outcome.labels[1:] for term in terms)  # type: ignore[misc]
    _warn_of(found, keys)
    return Regression(
        formula,
        outcome.family,
        keys,
        found.coefficients,
        found.covariance,
        found.unknown,
        outcome.labels,
        rows.total,
        found.errors,
        confidence,
        simultaneous,
        found.degrees,
        found.log_likelihood,
        found.converged,
        found.separated,
        _naive(made, rows, outcome, covariates, describes, keys) if axes else None,
        spec,
        what.terms,
        tuple(inner),
    )


def _axes(what: ParsedFormula, released: Any, mechanisms: Any) -> tuple[list[Axis], list[Axis]]:
    """The released columns that the formula uses, and those of them that are covariates."""
    if mechanisms is not None and not isinstance(mechanisms, Mapping):
        raise InvalidInput(
            f"mechanisms must be a mapping from released columns to their mechanisms, such as {{'income': m}}. Got "
            f"{type(mechanisms).__name__} instead."
        )
    known: dict[Any, Any] = {}
    if isinstance(released, SqlTable):
        metadata = released.metadata
    else:
        metadata = open_table(released, "released").metadata if is_path(released) else metadata_of(released)
    told = carried_secrets(metadata, "released")
    if not told and is_path(released):
        table = open_table(released, "released")
        told = released_beside(table)
        if not told and not mechanisms and (beside := mechanism_beside(table, None)) is not None:
            told = [beside]
    for one in told:
        known[one.names[0] if len(one.names) == 1 else one.names] = one.mechanism
    known |= {key: one for key, one in (mechanisms or {}).items() if one is not None or key not in known}
    if not known and (is_path(released) or isinstance(released, SqlTable)):
        warnings.warn(
            f"No mechanism was given, or found in {str(released)!r} or next to it: every column is taken as it is. If "
            "one was released by a mechanism, coefficients are biased: give it, mechanisms={'column': mechanism} (-m).",
            LeakwiseWarning,
            stacklevel=3,
        )
    axes, inner = [], []
    for key, mechanism in known.items():
        names = key if isinstance(key, tuple) else (key,)
        if not any(name in (*what.terms, *what.outcome_columns) for name in names):
            continue
        if not isinstance(mechanism, (Mechanism, StratifiedMechanism)):
            raise InvalidInput(
                f"The mechanism of {key!r} must be a lw.Mechanism or a lw.StratifiedMechanism. Got "
                f"{type(mechanism).__name__} instead"
                + (": the table does not carry one." if mechanism is None else ".")
            )
        axis = Axis(names, mechanism)
        axes.append(axis)
        on_left = any(name in what.outcome_columns for name in names)
        if on_left and (len(names) > 1 or names[0] != what.outcome):
            raise InvalidInput(
                f"The outcome {what.outcome!r} must be one released column by itself. {key!r} was released "
                + (
                    f"together, by one mechanism: lw.estimate(released, {{{key!r}: m}}) gives their joint table."
                    if len(names) > 1
                    else "and is changed by the formula: give it as it is."
                )
            )
        if any(name in what.terms for name in names):
            if on_left:
                raise InvalidInput(f"{key!r} is on both sides of the formula {what.text!r}.")
            inner.append(axis)
    return axes, inner


def _plain_columns(what: ParsedFormula, axes: Sequence[Axis]) -> list[str]:
    released = {name for axis in axes for name in axis.names}
    given = [str(name) for axis in axes for name in axis.given]
    used = [*what.terms, *what.outcome_columns, *given]
    return [name for name in dict.fromkeys(used) if name not in released]


def _left_out(what: ParsedFormula, axes: Sequence[Axis], frame: Any) -> list[str]:
    """The columns that mechanisms depend on and the formula leaves out."""
    left_out = {name for axis in axes for name in axis.given if name not in (*what.terms, *what.outcome_columns)}
    return sorted(str(name) for name in left_out if frame[name].nunique() > 1)


def _warn_of_strata(missing: Sequence[str]) -> None:
    """Warn where mechanisms depend on columns that the model leaves out: its likelihood would be another one."""
    if missing:
        warnings.warn(
            f"The mechanisms depend on {some_of(missing)}, which the formula leaves out. If that column says something "
            "about the outcome, coefficients are biased: add it to the formula.",
            LeakwiseWarning,
            stacklevel=3,
        )


def _warn_of(found: Fitted, keys: Sequence[Any]) -> None:
    if found.unknown.any():
        names = [key for key, bad in zip(keys, found.unknown, strict=True) if bad]
        warnings.warn(
            f"The released data do not determine {some_of(names)}: the mechanism hides it, or the terms of the formula "
            "say the same. Their intervals are unbounded.",
            LeakwiseWarning,
            stacklevel=3,
        )
    if found.separated:
        warnings.warn(
            "Perfect separation: a combination of the terms tells the outcome of some rows without exception, so that "
            "the likelihood grows without end. The coefficients along it have no finite value; use fewer terms.",
            LeakwiseWarning,
            stacklevel=3,
        )
    elif not found.converged:
        warnings.warn(
            "The search for the most likely coefficients did not converge. Rescale the columns, or use fewer terms.",
            LeakwiseWarning,
            stacklevel=3,
        )


def _naive(
    made: Sequence[Floats],
    rows: Rows,
    outcome: Response,
    covariates: Sequence[Seen],
    describes: Floats,
    keys: Sequence[Any],
) -> dict[Any, float] | None:
    """What the same formula gives when released values are taken for true ones."""
    taken = [_taken(one) for one in covariates]
    seen = None if outcome.seen is None else _taken(outcome.seen)
    if rows.weight.size > _NAIVE_ROWS or None in taken or (outcome.seen is not None and seen is None):
        return None
    kept = [one for one in taken if one is not None]
    found = fit(made, rows, replace(outcome, seen=seen), kept, describes, "information")
    return dict(zip(keys, found.coefficients.tolist(), strict=True))


def _taken(seen: Seen) -> Seen | None:
    """A released column as if its outcomes were its values; None where they are not."""
    inputs, outputs = seen.axis.values, seen.axis.outcomes
    if any(label not in inputs.index for label in outputs.labels):
        return None
    laws = np.zeros((len(inputs), len(outputs)))
    laws[[inputs.index[label] for label in outputs.labels], np.arange(len(outputs))] = 1.0
    every = np.ones(len(inputs), dtype=np.bool_)
    return Seen(seen.axis, [Lens(laws, every) for _ in seen.lenses], seen.pair)
