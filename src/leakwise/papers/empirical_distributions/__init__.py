"""[ED] priors known only from data: Examples 1 and 2, Theorem 5, and Figures 2–7."""

from leakwise.papers.empirical_distributions.bounds import example_1, example_2, figure_2a, figure_2b
from leakwise.papers.empirical_distributions.from_samples import figure_3a, figure_3b
from leakwise.papers.empirical_distributions.interpolation import theorem_5
from leakwise.papers.empirical_distributions.laplace import figure_4, figure_5
from leakwise.papers.empirical_distributions.normal import figure_6a, figure_6b, figure_7

__all__ = [
    "example_1",
    "example_2",
    "figure_2a",
    "figure_2b",
    "figure_3a",
    "figure_3b",
    "figure_4",
    "figure_5",
    "figure_6a",
    "figure_6b",
    "figure_7",
    "theorem_5",
]
