"""Noise on a secret with a density: certified leakage, envelopes, and the best discretisation with its proven loss."""

from leakwise.noise.continuous.audit import DensityAudit
from leakwise.noise.continuous.bins import BinnedNoise
from leakwise.noise.continuous.density import Density

__all__ = ["BinnedNoise", "Density", "DensityAudit"]
