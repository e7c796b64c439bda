"""The PML envelope: guarantees that survive post-processing ([EN]; the exact value is Leakwise's own)."""

from leakwise.leakage.envelopes.curve import EnvelopeCurve, envelope_curve
from leakwise.leakage.envelopes.one_delta import envelope, failure_probability
from leakwise.leakage.envelopes.result import Envelope

__all__ = ["Envelope", "EnvelopeCurve", "envelope", "envelope_curve", "failure_probability"]
