"""What a linear program answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from leakwise.types import Counts, Floats

__all__ = ["Basis", "Solution", "Status"]

Status: TypeAlias = Literal["optimal", "infeasible", "unbounded", "time_limit"]


class Basis(NamedTuple):
    """The basic columns and the rows whose slack is basic; together as many as the program has rows."""

    columns: Counts
    rows: Counts


@dataclass(frozen=True, eq=False, slots=True)
class Solution:
    """An answer to a linear program, with what proves it.

    The sign convention is the same for both senses: with y = ``duals`` and z = ``reduced_costs``,

        z = c − Aᵀy,

    and at the optimum c·x = Σ_i y_i r_i + Σ_j z_j x_j, where r_i = (Ax)_i is the row bound that is tight wherever
    y_i ≠ 0, and x_j the column bound that is tight wherever z_j ≠ 0 (strong duality). For max c·x, Ax = b, x ≥ 0 this
    says c − Aᵀy ≤ 0 and c·x = b·y: a new column (c', a') improves a maximum only if c' − a'·y > 0, and a minimum only
    if c' − a'·y < 0.

    Attributes
    ----------
    status
        ``"optimal"``, ``"infeasible"``, ``"unbounded"`` or ``"time_limit"``.
    objective
        c·x. NaN when infeasible, ±∞ when unbounded; after a time limit the value of the feasible point reached, or NaN
        if there was none.
    x
        The point; NaN everywhere if the solver left none that is feasible.
    duals
        One value per row; NaN everywhere if the solver left none that is dual feasible.
    reduced_costs
        One value per column, NaN as for ``duals``.
    basis
        The basic columns and rows (:class:`Basis`), or None if there is no basis.
    infeasibility_ray
        Farkas witness y when infeasible, scaled to max|y| = 1:
        min over the row bounds of y·r  >  max over the column bounds of (Aᵀy)·x,
        so no x can have Ax inside the row bounds. Checked in floats before it is handed out (entries of Aᵀy within 1e-9
        of zero count as zero); None if no ray passed.
    iterations
        Simplex iterations of this solve (0 when the warm basis was still optimal).
    """

    status: Status
    objective: float
    x: Floats
    duals: Floats
    reduced_costs: Floats
    basis: Basis | None
    infeasibility_ray: Floats | None
    iterations: int

    @property
    def optimal(self) -> bool:
        """Whether the optimum was found."""
        return self.status == "optimal"
