"""Linear programs: built from arrays, solved warm, answered with duals and witnesses.

The only room that speaks to HiGHS. It knows nothing of privacy.
"""

from leakwise.lp.program import LinearProgram, solve_lp
from leakwise.lp.solution import Basis, Solution, Status

__all__ = ["Basis", "LinearProgram", "Solution", "Status", "solve_lp"]
