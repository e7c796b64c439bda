"""Laplace and Gaussian noise on a finite set of reals, and their exact discretisation.

The continuous mechanisms are for thinking and comparing; a release draws from what ``.discretize()`` returns, an exact
mechanism over integers, because floating-point noise on private data leaks through its rounding.
"""

from leakwise.noise.gaussian import Gaussian, NoiseGuarantee
from leakwise.noise.laplace import Laplace
from leakwise.rooms import offering

__all__ = ["Gaussian", "Laplace", "NoiseGuarantee"]
__dir__ = offering(globals())
