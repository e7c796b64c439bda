"""An exact optimum for LaTeX and for SymPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from leakwise.errors import require
from leakwise.exact import Linear, LogSum, RationalFunction, ones_as_mixture
from leakwise.mechanism.written import latex_fraction, latex_text
from leakwise.optimize.exact_optimum.worth import weighted_gains

if TYPE_CHECKING:
    from leakwise.optimize.exact_optimum.result import ExactOptimum

__all__ = ["as_latex", "as_sympy"]


def as_latex(best: ExactOptimum) -> str:
    """Return lifts with weights above and duals beside them, and the value."""
    head = " & ".join(["", *map(latex_text, best.outcomes), "y"])
    top = " & ".join(["q", *map(latex_fraction, best.weights), ""])
    lines = [
        " & ".join([latex_text(label), *map(latex_fraction, row), _latex(dual)])
        for label, row, dual in zip(best.prior.labels, best.columns.tolist(), best.duals, strict=True)
    ]
    body = " \\\\\n".join([f"{top} \\\\ \\hline", *lines]).replace("\\hline \\\\", "\\hline")
    frame = f"l|{'c' * len(best.weights)}|c"
    return (
        f"\\begin{{array}}{{{frame}}}\n{head} \\\\\n{body}\n\\end{{array}}\n\\quad t = {latex_fraction(best.lift)}\n"
        f"\\quad U = {_latex(best.value)}"
    )


def _latex(value: Fraction | LogSum) -> str:
    if isinstance(value, Fraction):
        return latex_fraction(value)
    parts = [latex_fraction(value.constant)] if value.constant else []
    parts += [rf"{latex_fraction(times)} \log {latex_fraction(base)}" for base, times in value.logs.items()]
    return " + ".join(parts).replace("+ -", "- ")


def as_sympy(best: ExactOptimum, in_lift: Sequence[Sequence[Linear]] | None) -> dict[str, Any]:
    """Return everything as SymPy's; the columns of the basis as functions of t where they are given."""
    sympy = require("sympy", extra="symbolic", purpose="An exact optimum for SymPy")

    def number(value: Fraction | LogSum) -> Any:
        if isinstance(value, Fraction):
            return sympy.Rational(value.numerator, value.denominator)
        logs = (number(times) * sympy.log(number(base)) for base, times in value.logs.items())
        return number(value.constant) + sum(logs, sympy.Integer(0))

    prior = sympy.Matrix([number(one) for one in best.prior.fractions])
    if in_lift is None:
        return {
            "prior": prior,
            "lift": number(best.lift),
            "columns": sympy.Matrix([[number(entry) for entry in row] for row in best.columns.tolist()]),
            "weights": sympy.Matrix([number(one) for one in best.weights]),
            "duals": sympy.Matrix([number(one) for one in best.duals]),
            "value": number(best.value),
        }
    t = sympy.Symbol("t", positive=True)

    def quotient(one: RationalFunction) -> Any:
        above, below = (
            sum((number(c) * t**k for k, c in enumerate(side)), sympy.Integer(0))
            for side in (one.numerator, one.denominator)
        )
        return sympy.factor(above / below)

    columns = [[number(a) + number(b) * t for a, b in column] for column in in_lift]
    weights = [quotient(one) for one in ones_as_mixture(in_lift, best.lift)]
    worths = [_worth(best, column, t, sympy, number) for column in columns]
    value = sum((q * worth for q, worth in zip(weights, worths, strict=True)), sympy.Integer(0))
    return {
        "prior": prior,
        "lift": t,
        "columns": sympy.Matrix(columns).T,
        "weights": sympy.Matrix(weights),
        "value": sympy.simplify(value),
    }


def _worth(best: ExactOptimum, column: Sequence[Any], t: Any, sympy: Any, number: Callable[[Fraction], Any]) -> Any:
    """What an outcome is worth as a function of t: the guess and the signs are those that it has at the lift."""
    p, nothing = [number(one) for one in best.prior.fractions], sympy.Integer(0)
    if best.utility == "mutual_information":
        return sum((mass * x * sympy.log(x) for mass, x in zip(p, column, strict=True) if x != 0), nothing)
    if best.utility == "chi_square":
        return sum((mass * (x - 1) ** 2 for mass, x in zip(p, column, strict=True)), nothing)
    here = number(best.lift)
    if best.utility == "total_variation":
        signs = [1 if x.subs(t, here) > 1 else -1 for x in column]
        return sum((mass * sign * (x - 1) / 2 for mass, sign, x in zip(p, signs, column, strict=True)), nothing)
    said = [
        sum((number(g) * x for g, x in zip(guess, column, strict=True)), nothing)
        for guess in weighted_gains(best.prior.fractions, best.gains)
    ]
    return max(said, key=lambda one: one.subs(t, here))
