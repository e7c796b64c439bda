"""Designs for statistics: the least asymptotic error of the recovered frequencies.

Minimise trace J(ρ)⁻¹ with J = Σ_r ρ_r λ_r λ_rᵀ over weights with Σ_r ρ_r λ_r = 1. Linearised at an optimum, a column is
worth λᵀ J⁻² λ, convex in λ: so extreme rays suffice, and the same pricing picture gives the bound. Few letters have few
columns, and column generation finds the optimum; many letters have a given number of columns, of which the least useful
ones are exchanged. What is aimed at may be the largest variance of some contrasts as well (``aim``).
"""

from leakwise.optimize.search.frequencies.aim import Aim
from leakwise.optimize.search.frequencies.search import search_frequencies

__all__ = ["Aim", "search_frequencies"]
