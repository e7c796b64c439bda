"""What a regression returns: coefficients keyed by the terms of its formula, with errors, intervals and predictions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from leakwise.alphabet import Label
from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.charts.specs import dots_with_intervals, grouped_bars
from leakwise.errors import InvalidInput, require
from leakwise.tables.estimate.joint.axes import Axis
from leakwise.tables.estimate.numbers import critical_value
from leakwise.tables.estimate.regression.formula import as_frame, model_matrix
from leakwise.types import Bools, Floats

__all__ = ["Regression"]


_ERRORS = {"information": "the observed information", "sandwich": "the sandwich"}


@dataclass(frozen=True, repr=False, eq=False)
class Regression(Drawn):
    """A fitted regression of true values, from released ones.

    Coefficients, intervals and errors are mappings keyed by term; in a multinomial regression by (value, term), each
    value against the first.

    Attributes
    ----------
    formula, family
        What was fitted. Logistic is for the last of two values.
    labels
        The values of the outcome, where the family has probabilities of them.
    sample_size
        The number of rows.
    errors
        ``"information"`` or ``"sandwich"``: where the errors come from.
    log_likelihood
        The maximum; None for corrected scores, which have none.
    naive
        The coefficients that the same formula gives when released values are taken for true ones; None where outcomes
        are not values.
    """

    formula: str
    family: str
    terms: tuple[Any, ...]
    estimates: Floats
    covariance: Floats
    unknown: Bools
    labels: tuple[Label, ...]
    sample_size: int
    errors: str
    confidence: float
    simultaneous: bool
    degrees: float | None
    log_likelihood: float | None
    converged: bool
    separated: bool
    naive: Mapping[Any, float] | None
    spec: Any
    columns: tuple[str, ...]
    axes: tuple[Axis, ...]

    @cached_property
    def coefficients(self) -> dict[Any, float]:
        """The coefficient of every term; NaN where the released data do not determine it."""
        return dict(zip(self.terms, np.where(self.unknown, np.nan, self.estimates).tolist(), strict=True))

    @cached_property
    def standard_errors(self) -> dict[Any, float]:
        """The standard error of every coefficient."""
        found = np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0))
        return dict(zip(self.terms, np.where(self.unknown, np.nan, found).tolist(), strict=True))

    @cached_property
    def intervals(self) -> dict[Any, tuple[float, float]]:
        """Low and high of every coefficient; unbounded where the released data do not determine it."""
        reach = critical_value(self.confidence, self.degrees, len(self.terms) if self.simultaneous else 1)
        found = {}
        for term, value in self.coefficients.items():
            width = reach * self.standard_errors[term]
            found[term] = (-math.inf, math.inf) if math.isnan(width) else (value - width, value + width)
        return found

    @cached_property
    def p_values(self) -> dict[Any, float]:
        """For every coefficient how often one as far from zero is met when it is zero."""
        from scipy.special import ndtr, stdtr

        found = {}
        for term, value in self.coefficients.items():
            error = self.standard_errors[term]
            ratio = -abs(value) / error if error > 0 else math.nan
            found[term] = float(2 * (ndtr(ratio) if self.degrees is None else stdtr(self.degrees, ratio)))
        return found

    def predict(self, table: Any) -> Floats:
        """Return what is expected of new rows with *true* values in the columns of the formula.

        The mean for linear and Poisson; the probability of the last value for logistic; for multinomial one column of
        probabilities for every value of ``labels``.
        """
        x = np.asarray(model_matrix(self.spec, as_frame(table, self.columns, self.axes)), dtype=np.float64)
        eta = x @ self.estimates.reshape(-1, x.shape[1]).T
        if self.family == "linear":
            return np.asarray(eta[:, 0])
        if self.family == "poisson":
            return np.asarray(np.exp(eta[:, 0]))
        if self.family == "logistic":
            from scipy.special import expit

            return np.asarray(expit(eta[:, 0]))
        full = np.concatenate((np.zeros((x.shape[0], 1)), eta), axis=1)
        full = np.exp(full - full.max(axis=1, keepdims=True))
        return np.asarray(full / full.sum(axis=1, keepdims=True))

    # -- in words and tables ------------------------------------------------------------------------------------

    def summary(self) -> Any:
        """Return a summary laid out like those of statsmodels (``print`` it, or ``.as_html()``, ``.as_latex()``)."""
        module = require("statsmodels.iolib.summary", extra="analysis", purpose="A summary")
        tables = require("statsmodels.iolib.table", extra="analysis", purpose="A summary")
        names = [_name(term) for term in self.terms]
        numbers = [np.array(list(one.values())) for one in (self.coefficients, self.standard_errors, self.p_values)]
        ends = np.array(list(self.intervals.values()))
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = numbers[0] / numbers[1]
        parts = (None, numbers[0], numbers[1], ratio, numbers[2], ends)
        result = module.Summary()
        facts = [
            ["Formula:", self.formula, "No. Observations:", f"{self.sample_size:,}"],
            ["Family:", self._family(), "Covariance Type:", self.errors],
            ["Converged:", str(self.converged), "Log-Likelihood:", self._likelihood()],
        ]
        result.tables.append(tables.SimpleTable(facts, title="Regression of true values from released ones"))
        alpha = round(1 - self.confidence, 12)
        result.tables.append(
            module.summary_params(parts, yname="", xname=names, alpha=alpha, use_t=self.degrees is not None)
        )
        result.add_extra_txt(self._notes())
        return result

    def _family(self) -> str:
        return f"logistic, for {self.labels[-1]!s}" if self.family == "logistic" else self.family

    def _likelihood(self) -> str:
        return "none (corrected score)" if self.log_likelihood is None else f"{self.log_likelihood:.5g}"

    def _notes(self) -> list[str]:
        notes = []
        if self.unknown.any():
            names = ", ".join(_name(term) for term, bad in zip(self.terms, self.unknown, strict=True) if bad)
            notes.append(f"The released data do not determine: {names}.")
        if self.separated:
            notes.append("Perfect separation: the likelihood grows without end along some coefficients.")
        if self.family == "multinomial":
            notes.append(f"Each value is compared with {self.labels[0]!s}.")
        return notes

    def _shown(self) -> Parts:
        headers = ["term", "coefficient", "standard error", "low", "high", "p-value"]
        shown = []
        for term, value in self.coefficients.items():
            numbers = [value, self.standard_errors[term], *self.intervals[term], self.p_values[term]]
            row: list[object] = [one if math.isfinite(one) else None for one in numbers]
            if self.naive is not None:
                row.append(self.naive.get(term))
            shown.append([_name(term), *row])
        if self.naive is not None:
            headers.append("naive")
        kind = "together" if self.simultaneous else "each"
        first = f"{self.formula}: {self._family()}, {self.sample_size:,} released rows"
        title = f"Intervals at {100 * self.confidence:g}% {kind}, errors by {_ERRORS[self.errors]}"
        return [first, Table(headers, shown, title, max_rows=60), *self._notes()]

    def chart(self) -> dict[str, Any]:
        """The coefficients with their intervals, beside the naive ones where there are any, as a Vega-Lite chart."""
        known = [term for term in self.terms if math.isfinite(self.standard_errors[term])]
        if not known:
            raise InvalidInput("There is nothing to draw: the released data determine no coefficient.")
        names = [_name(term) for term in known]
        values = [self.coefficients[term] for term in known]
        low, high = zip(*(self.intervals[term] for term in known), strict=True)
        title = f"Coefficients of {self.formula}"
        if self.naive is None or any(term not in self.naive for term in known):
            return dots_with_intervals(
                names, values, low, high, title=title, value_title="coefficient", label_title="term"
            )
        series = {"corrected": values, "released values taken for true": [self.naive[term] for term in known]}
        ends: dict[str, tuple[Sequence[float], Sequence[float]]] = {"corrected": (low, high)}
        return grouped_bars(names, series, ends, title=title, value_title="coefficient", label_title="term")

    def to_pandas(self) -> Any:
        """Return a DataFrame with one row for each term."""
        pandas = require("pandas", extra="data", purpose="A table of the regression")
        ends = np.array(list(self.intervals.values()))
        columns = {
            "coefficient": list(self.coefficients.values()),
            "standard_error": list(self.standard_errors.values()),
            "low": ends[:, 0],
            "high": ends[:, 1],
            "p_value": list(self.p_values.values()),
        }
        if self.naive is not None:
            columns["naive"] = [self.naive.get(term) for term in self.terms]
        return pandas.DataFrame(columns, index=pandas.Index([_name(term) for term in self.terms], name="term"))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; None where a number does not exist."""

        def plain(values: Mapping[Any, float]) -> dict[str, float | None]:
            return {_name(term): value if math.isfinite(value) else None for term, value in values.items()}

        return {
            "formula": self.formula,
            "family": self.family,
            "labels": [str(label) for label in self.labels],
            "sample_size": self.sample_size,
            "coefficients": plain(self.coefficients),
            "standard_errors": plain(self.standard_errors),
            "intervals": {
                _name(term): [one if math.isfinite(one) else None for one in ends]
                for term, ends in self.intervals.items()
            },
            "p_values": plain(self.p_values),
            "naive": None if self.naive is None else plain(self.naive),
            "errors": self.errors,
            "confidence": self.confidence,
            "log_likelihood": self.log_likelihood,
            "converged": self.converged,
        }


def _name(term: Any) -> str:
    """A term as text: that of a multinomial regression with the value it is for."""
    return f"{term[0]}: {term[1]}" if isinstance(term, tuple) else str(term)
