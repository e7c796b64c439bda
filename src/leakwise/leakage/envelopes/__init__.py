"""The PML envelope: guarantees that survive post-processing ([EN]; the exact value is Leakwise's own)."""

from leakwise.leakage.envelopes.curve import EnvelopeCurve, envelope_curve
from leakwise.leakage.envelopes.result import Envelope
from leakwise.leakage.envelopes.single import envelope, failure_probability

__all__ = ["Envelope", "EnvelopeCurve", "envelope", "envelope_curve", "failure_probability"]
