"""A classifier that learns true labels from released ones: ``lw.sklearn.NoiseAwareClassifier``."""

from __future__ import annotations

from typing import Any

import numpy as np

from leakwise.alphabet import encode_column
from leakwise.errors import InvalidInput, require
from leakwise.mechanism import Mechanism
from leakwise.mechanism.catalog import identity
from leakwise.tables.kinds.joint_columns import plain_alphabet
from leakwise.tables.kinds.plain import natural_array
from leakwise.types import Array, Floats, Indices

require("sklearn", extra="sklearn", purpose="leakwise.sklearn")

from sklearn.base import BaseEstimator, ClassifierMixin, clone  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.model_selection import KFold, StratifiedKFold  # noqa: E402
from sklearn.pipeline import Pipeline  # noqa: E402
from sklearn.utils import _safe_indexing, check_random_state, column_or_1d, get_tags  # noqa: E402
from sklearn.utils.multiclass import check_classification_targets  # noqa: E402
from sklearn.utils.validation import (  # noqa: E402
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

__all__ = ["NoiseAwareClassifier"]

# Copies of a row with less than this share are left out of a fit.
_LEAST_SHARE = 1e-6


class NoiseAwareClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""Learn a classifier of true labels from labels that a mechanism released.

    For a :class:`~sklearn.linear_model.LogisticRegression` with an L2 penalty the regularised likelihood of the
    released labels, :math:`\sum_t P(y|t) p(t|x)`, is maximised itself. Any other estimator that takes
    ``sample_weight`` is fitted by EM: each row counts for every label with the probability that it is the true one, as
    found by models that did not see the row (which keeps flexible models from believing themselves).

    Parameters
    ----------
    estimator
        What to fit; ``LogisticRegression()`` by default. In a pipeline the last step gets the weights.
    mechanism
        The mechanism that released the labels; None for labels that are true.
    max_iter, tol
        Of EM: the most rounds, and the gain in likelihood of a row that was left out, below which it stops.
    folds
        Parts of the rows that the models of a round leave out in turn.
    random_state
        How the rows are put into parts.

    Attributes
    ----------
    classes_
        The true labels, in the order of the mechanism's inputs.
    estimator_
        What was fitted, on codes of the labels where it was fitted by EM.
    n_iter_
        Rounds that were needed.

    Notes
    -----
    ``score(X, y)`` takes *released* labels and estimates the accuracy for true ones without bias; with few rows it may
    be above 1 or below 0. For true labels use ``sklearn.metrics.accuracy_score(y, model.predict(X))``.

    Examples
    --------
    >>> import leakwise as lw
    >>> m = lw.randomized_response(["no", "yes"], lift=2)
    >>> X, released = [[0.0], [1.0]] * 300, ["no", "yes", "yes", "yes", "no", "no"] * 100
    >>> NoiseAwareClassifier(mechanism=m).fit(X, released).classes_.tolist()
    ['no', 'yes']
    """

    def __init__(
        self,
        estimator: Any = None,
        mechanism: Mechanism | None = None,
        *,
        max_iter: int = 10,
        tol: float = 1e-5,
        folds: int = 3,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.mechanism = mechanism
        self.max_iter = max_iter
        self.tol = tol
        self.folds = folds
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NoiseAwareClassifier:
        """Fit to rows with released labels.

        Parameters
        ----------
        X
            The features, as the estimator takes them.
        y
            The released labels: outcomes of the mechanism.
        sample_weight
            Weights of the rows.
        """
        base = LogisticRegression() if self.estimator is None else self.estimator
        linear = _is_linear(base)
        X, y = self._checked(X, y, base, linear)
        m, codes = self._codes(y)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        seen = m.matrix.T[codes]  # the probability of each row's outcome, for every label
        self.classes_ = natural_array(m.inputs)
        self._undo = _inverse(m)
        self._outcomes = m.output_alphabet
        if len(self.classes_) < 2 or np.unique(codes[weight > 0]).size < 2 - (self.mechanism is not None):
            raise InvalidInput("Only one class is present: there is nothing to learn to tell apart.")
        if linear:
            self.estimator_, self.n_iter_ = _likelihood(clone(base), X, seen, weight, self.classes_)
        else:
            self.estimator_, self.n_iter_ = self._em(base, X, codes, seen, weight)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of every true label, in the order of ``classes_``."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict_proba(self._features(X, self.estimator_, reset=False)))

    def predict(self, X: Any) -> Array:
        """Return the most probable true label of every row."""
        check_is_fitted(self, "estimator_")
        found: Array = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return found

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy for true labels, estimated without bias from *released* ones.

        A row whose prediction is t counts with what undoes the mechanism at its outcome, b[y, t], whose mean is 1 if t
        is its true label and 0 if not.
        """
        check_is_fitted(self, "estimator_")
        codes = encode_column(np.asarray(y), plain_alphabet(self._outcomes), name="y")
        predicted = self.predict_proba(X).argmax(axis=1)
        return float(np.average(self._undo[codes, predicted], weights=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(LogisticRegression() if self.estimator is None else self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan and not _is_linear(self.estimator)
        return tags

    # -- what fit does ------------------------------------------------------------------------------------------

    def _checked(self, X: Any, y: Any, base: Any, linear: bool) -> tuple[Any, Array]:
        if y is None:
            raise InvalidInput("requires y to be passed, but the target y is None.")
        X = self._features(X, base, reset=True)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        check_classification_targets(y)
        if not linear and not _takes_weights(base):
            raise InvalidInput(
                f"estimator must take sample_weight in fit. {type(base).__name__} does not; use one that does, such as "
                "a logistic regression, a naive Bayes or a tree ensemble."
            )
        return X, y

    def _codes(self, y: Array) -> tuple[Mechanism, Indices]:
        m = self.mechanism
        if m is None:
            values, codes = np.unique(y, return_inverse=True)
            return identity([value.item() if hasattr(value, "item") else value for value in values]), codes.reshape(-1)
        if not isinstance(m, Mechanism):
            raise InvalidInput(f"mechanism must be a lw.Mechanism. Got {type(m).__name__} instead.")
        if np.linalg.matrix_rank(m.matrix) < m.shape[0]:
            raise InvalidInput(
                f"The mechanism does not tell its {m.shape[0]} labels apart: however many rows there are, a classifier "
                "of them cannot be learnt from its outcomes."
            )
        return m, encode_column(y, plain_alphabet(m.output_alphabet), name="y").astype(np.intp)

    def _features(self, X: Any, base: Any, *, reset: bool) -> Any:
        """The features: as numbers for the likelihood; otherwise frames as they are, for the steps of a pipeline."""
        if _is_linear(base):
            return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)
        if hasattr(X, "columns"):
            validate_data(self, X, skip_check_array=True, reset=reset)
            return X
        tags = get_tags(base).input_tags
        finite = "allow-nan" if tags.allow_nan else True
        sparse = "csr" if tags.sparse else False
        return validate_data(self, X, accept_sparse=sparse, dtype=None, ensure_all_finite=finite, reset=reset)

    def _em(self, base: Any, X: Any, codes: Indices, seen: Floats, weight: Floats) -> tuple[Any, int]:
        rows = seen.shape[0]
        posterior = seen / seen.sum(axis=1, keepdims=True)
        if ((seen > 0).sum(axis=1) == 1).all():
            return _fitted(base, X, posterior, weight, np.arange(rows)), 1  # every outcome says its label
        parts = self._parts(codes, rows)
        # EM creeps where the noise is strong. It starts from what the outcomes themselves say: their distribution given
        # the features, as any classifier learns it, with the mechanism undone.
        outcomes = np.eye(self._undo.shape[0])[codes]
        p = np.maximum(_left_out(base, X, outcomes, weight, parts) @ self._undo, 0.01)
        p /= p.sum(axis=1, keepdims=True)
        best, rounds = -np.inf, 0
        while rounds < self.max_iter:
            joint = np.maximum(p, 1e-12) * seen
            total = joint.sum(axis=1)
            # What rows left out say about the model: a regularised one grows worse when it is fitted to itself again.
            fit = float(np.average(np.log(total), weights=weight))
            if fit <= best:
                break
            rounds += 1
            gain, best = fit - best, fit
            posterior = joint / total[:, None]
            if gain <= self.tol:
                break
            p = _left_out(base, X, posterior, weight, parts)
        return _fitted(base, X, posterior, weight, np.arange(rows)), max(rounds, 1)

    def _parts(self, codes: Indices, rows: int) -> list[tuple[Indices, Indices]]:
        state = check_random_state(self.random_state)
        folds = min(self.folds, rows // 2)
        if folds < 2:
            return [(np.arange(rows), np.arange(rows))]
        kind = StratifiedKFold if np.bincount(codes)[np.unique(codes)].min() >= folds else KFold
        return list(kind(folds, shuffle=True, random_state=state).split(np.zeros(rows), codes))


def _is_linear(estimator: Any) -> bool:
    """Whether the regularised likelihood can be maximised itself: a logistic regression with an L2 penalty or none."""
    if type(estimator) is not LogisticRegression:
        return False
    ridge = getattr(estimator, "l1_ratio", None) in (None, 0, 0.0) and getattr(estimator, "penalty", None) not in (
        "l1",
        "elasticnet",
    )
    return ridge and estimator.class_weight is None


def _takes_weights(estimator: Any) -> bool:
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return bool(has_fit_parameter(last, "sample_weight")) and (
        hasattr(last, "predict_proba") or "predict_proba" in dir(type(last))
    )


def _left_out(base: Any, X: Any, shares: Floats, weight: Floats, parts: list[tuple[Indices, Indices]]) -> Floats:
    """The probabilities of the labels of every row, by a model that did not see the row."""
    p = np.empty(shares.shape)
    for inside, outside in parts:
        model = _fitted(base, X, shares, weight, inside)
        p[outside] = model.predict_proba(_safe_indexing(X, outside))
    return p


def _fitted(base: Any, X: Any, posterior: Floats, weight: Floats, rows: Indices) -> Any:
    """The estimator fitted to every row of some, once for each label that it may have, with the shares as weights."""
    share = posterior[rows] * weight[rows][:, None]
    place, label = np.nonzero(share > _LEAST_SHARE * share.max())
    missing = np.setdiff1d(np.arange(share.shape[1]), label)
    place = np.append(place, share[:, missing].argmax(axis=0))  # every label needs a row, however light
    label = np.append(label, missing)
    weights = np.maximum(share[place, label], _LEAST_SHARE)
    model = clone(base)
    prefix = f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
    return model.fit(_safe_indexing(X, rows[place]), label, **{f"{prefix}sample_weight": weights})


def _inverse(m: Mechanism) -> Floats:
    """What undoes the mechanism, outcomes by labels: b with P b = 1."""
    return np.asarray(np.linalg.pinv(m.matrix))


def _likelihood(model: Any, X: Any, seen: Floats, weight: Floats, classes: Array) -> tuple[Any, int]:
    """Return the logistic regression with the coefficients that maximise the likelihood of the released labels."""
    from scipy.optimize import minimize

    count, size = seen.shape[1], X.shape[1]
    kinds = 1 if count == 2 else count  # two labels have one row of coefficients, as in scikit-learn
    penalty = 0.0 if getattr(model, "penalty", "l2") is None or not np.isfinite(model.C) else 1.0 / model.C
    total = weight.sum()

    def negative(flat: Floats) -> tuple[float, Floats]:
        coefficients = flat.reshape(kinds, -1)
        w, intercept = coefficients[:, :size], coefficients[:, size] if model.fit_intercept else np.zeros(kinds)
        eta = np.asarray(X @ w.T) + intercept
        if kinds == 1:
            eta = np.concatenate((np.zeros_like(eta), eta), axis=1)
        eta -= eta.max(axis=1, keepdims=True)
        p = np.exp(eta)
        p /= p.sum(axis=1, keepdims=True)
        joint = seen * p
        like = np.maximum(joint.sum(axis=1), 1e-300)
        slope = weight[:, None] * (joint / like[:, None] - p)
        slope = slope[:, 1:] if kinds == 1 else slope
        value = -float(weight @ np.log(like)) + 0.5 * penalty * float((w**2).sum())
        down = -np.asarray((X.T @ slope).T) + penalty * w
        if model.fit_intercept:
            down = np.concatenate((down, -slope.sum(axis=0)[:, None]), axis=1)
        return value / total, down.reshape(-1) / total

    start = np.zeros(kinds * (size + int(model.fit_intercept)))
    found = minimize(
        negative, start, jac=True, method="L-BFGS-B", options={"maxiter": 15_000, "gtol": 1e-9, "ftol": 1e-15}
    )
    coefficients = found.x.reshape(kinds, -1)
    model.coef_ = coefficients[:, :size]
    model.intercept_ = coefficients[:, size] if model.fit_intercept else np.zeros(kinds)
    model.classes_ = classes
    model.n_features_in_ = size
    model.n_iter_ = np.array([found.nit])
    return model, max(int(found.nit), 1)
