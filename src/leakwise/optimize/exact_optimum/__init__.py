"""The optimum of a design as mathematics: exact columns, weights, duals and value, proven without rounding."""

from leakwise.optimize.exact_optimum.result import ExactOptimum

__all__ = ["ExactOptimum"]
