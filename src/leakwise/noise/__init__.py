"""Laplace and Gaussian noise on a finite set of reals, and with staircase noise on a density; exact discretisations.

The continuous mechanisms are for thinking and comparing; a release draws from what ``.discretize()`` returns, an exact
mechanism over integers, because floating-point noise on private data leaks through its rounding.
"""

from leakwise.noise.continuous import BinnedNoise, Density, DensityAudit
from leakwise.noise.gaussian import Gaussian, NoiseGuarantee
from leakwise.noise.laplace import Laplace
from leakwise.noise.staircase import Staircase
from leakwise.rooms import offering

__all__ = ["BinnedNoise", "Density", "DensityAudit", "Gaussian", "Laplace", "NoiseGuarantee", "Staircase"]
__dir__ = offering(globals())
