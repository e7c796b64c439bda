"""The optimum of a design as mathematics: what it consists of, and how it is written."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from leakwise.alphabet import Label
from leakwise.charts.shown import Parts, Shown, Table
from leakwise.errors import InvalidInput, counted, label_text
from leakwise.exact import LogSum, RationalFunction, level, ones_as_mixture
from leakwise.exact.proven_mixture import Column
from leakwise.mechanism import Mechanism
from leakwise.optimize.exact_optimum.in_lift import columns_in_lift
from leakwise.priors import Prior
from leakwise.types import Array, Floats

__all__ = ["ExactOptimum"]

_LONGEST = 16  # characters of a fraction in a table


@dataclass(frozen=True, repr=False)
class ExactOptimum(Shown):
    r"""The optimum within ε-PML at a prior, exact and proven without rounding; made by :meth:`Design.exact`.

    Of the extreme columns λ_1, …, λ_R of ε-PML (:func:`~leakwise.measures.extreme_columns`) the best mechanism is a
    mixture, max Σ_r q_r μ(λ_r) over q ≥ 0 with Σ_r q_r λ_r = 1 for each value. Its dual is min Σ_i y_i over prices y
    with Σ_i y_i λ_ir ≥ μ(λ_r) for every r. Both are solved exactly, and have the same value.

    Attributes
    ----------
    prior
        The prior, without the values that never occur.
    lift
        t, the largest lift that is allowed: as it was given, or for a limit ε a fraction a hair below e^ε.
    utility
        The name of the utility.
    value
        The optimal value: a fraction, or for mutual information a sum of logarithms
        (:class:`~leakwise.exact.LogSum`; ``interval`` encloses it).
    columns, weights
        The lifts of each outcome, a row for each value, and the probabilities of the outcomes; all fractions.
    duals
        y, the price of each value's row of probabilities: what the utility would grow by for each unit that the row
        added up to beyond 1. They add up to ``value``. An outcome whose lifts cost Σ_i y_i λ_i more than it is worth is
        in no best mechanism.
    tight
        The lifts of all extreme columns that are worth what they cost, Σ_i y_i λ_i = μ(λ): every best mechanism is a
        mixture of these. Where there are more of them than outcomes, it may not be the only one.
    basis
        The columns of the optimal basis, those with a positive weight first; None at a lift of 1, where there are fewer
        than values.
    outcomes
        The names of the outcomes.
    gains
        Of ``lw.Gain`` and ``lw.Expected`` the matrix, a row for each value; None for other utilities.
    """

    prior: Prior
    lift: Fraction
    utility: str
    value: Fraction | LogSum
    columns: Array
    weights: tuple[Fraction, ...]
    duals: tuple[Fraction | LogSum, ...]
    tight: Array
    basis: Array | None
    outcomes: tuple[Label, ...]
    gains: Floats | None = None

    @property
    def interval(self) -> tuple[float, float]:
        """The value, rounded down and up to floats."""
        return (self.value if isinstance(self.value, LogSum) else LogSum(self.value)).interval()

    @cached_property
    def mechanism(self) -> Mechanism:
        """The mechanism itself, exact: p_ij = q_j λ_ij."""
        rows = [[q * x for q, x in zip(self.weights, row, strict=True)] for row in self.columns.tolist()]
        return Mechanism(rows, inputs=self.prior.labels, outputs=self.outcomes)

    def weights_in_lift(self) -> tuple[RationalFunction, ...]:
        """Return the weights of the columns of ``basis`` as rational functions of the lift t.

        They are the weights of the best mechanism wherever this basis is optimal: at ``lift``, and around it unless
        a weight is zero there. A lift at which regions of the prior meet is refused: the functions are others on
        either side.

        >>> import leakwise as lw
        >>> best = lw.design(["1/2", "3/10", "1/5"], lift="3/2").exact()
        >>> print(*best.weights_in_lift(), sep="  ")
        (-1 + t)/(t)  (2 - t)/(t)  (-1 + t)/(t)
        """
        return tuple(ones_as_mixture(self._in_lift, self.lift))

    def holds_at(self, lift: object) -> bool:
        """Return whether the basis is optimal at another lift too, so that :meth:`weights_in_lift` holds there; proven.

        >>> import leakwise as lw
        >>> best = lw.design(["1/2", "3/10", "1/5"], lift="3/2").exact()
        >>> [best.holds_at(lift) for lift in ("11/8", "23/16", "25/16", "7/4")]
        [False, True, True, False]
        """
        from leakwise.optimize.exact_optimum.from_design import is_optimal_at

        t = level(lift=lift).below
        return is_optimal_at(self, t, [tuple(a + b * t for a, b in column) for column in self._in_lift])

    @property
    def _in_lift(self) -> list[list[tuple[Fraction, Fraction]]]:
        if self.basis is None:
            raise InvalidInput(f"At a lift of {self.lift} there are fewer extreme columns than values, and no basis.")
        columns: list[Column] = [tuple(column) for column in self.basis.T.tolist()]
        return columns_in_lift(self.prior.fractions, columns, self.lift)

    # -- as it is written ---------------------------------------------------------------------------------------

    def _shown(self) -> Parts:
        labels = [label_text(label) for label in self.prior.labels]
        rows = [
            [label_text(name), _short(q), *map(_short, column)]
            for name, q, column in zip(self.outcomes, self.weights, self.columns.T.tolist(), strict=True)
        ]
        rows.append(["dual of the value's row", "", *map(_short, self.duals)])
        low, high = self.interval
        spread = f"{low:.12g}" if f"{low:.12g}" == f"{high:.12g}" else f"between {low:.12g} and {high:.12g}"
        exact = f" = {self.value}" if len(str(self.value)) <= 4 * _LONGEST else ""
        return [
            Table(
                ["outcome", "probability", *(f"lift of {label}" for label in labels)],
                rows,
                f"exact optimum of {self.utility} at a lift of at most {_short(self.lift)}",
            ),
            f"Value {spread}{exact}. Proven without rounding over all extreme columns: "
            f"{counted(len(self.weights), 'column')} used, {self.tight.shape[1]:,} worth the price of their lifts.",
        ]

    def to_latex(self) -> str:
        r"""Return lifts, weights, duals and value as an ``array`` for LaTeX's mathematics, in exact fractions.

        >>> import leakwise as lw
        >>> best = lw.design(["1/2", "1/2"], lift="3/2", utility="guessing").exact()
        >>> print(best.to_latex().splitlines()[-1])
        \quad U = \frac{3}{4}
        """
        from leakwise.optimize.exact_optimum.written import as_latex

        return as_latex(self)

    def to_sympy(self, *, in_lift: bool = False) -> dict[str, Any]:
        """Return everything as SymPy's: rationals, logarithms and matrices (extra ``symbolic``).

        Parameters
        ----------
        in_lift
            Whether columns, weights and value are functions of the symbol ``t``, for the whole basis
            (:meth:`weights_in_lift`); otherwise they are numbers.

        Returns
        -------
        ``prior``, ``lift``, ``columns``, ``weights``, ``duals`` and ``value``; with ``in_lift`` the same without duals,
        ``lift`` being the symbol.
        """
        from leakwise.optimize.exact_optimum.written import as_sympy

        return as_sympy(self, self._in_lift if in_lift else None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, fractions as text."""
        low, high = self.interval
        return {
            "utility": self.utility,
            "lift": str(self.lift),
            "value": str(self.value),
            "value_lower": low,
            "value_upper": high,
            "values": list(self.prior.labels),
            "outcomes": list(self.outcomes),
            "weights": [str(one) for one in self.weights],
            "columns": _texts(self.columns),
            "duals": [str(one) for one in self.duals],
            "tight": _texts(self.tight),
        }


def _texts(columns: Array) -> list[list[str]]:
    """The columns, one after another."""
    return [[str(entry) for entry in column] for column in columns.T.tolist()]


def _short(value: Fraction | LogSum) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST else f"{float(value):.10g}…"
