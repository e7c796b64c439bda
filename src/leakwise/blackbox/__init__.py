"""The leakage of something that can only be run: bounds from its answers, with a stated failure probability."""

from leakwise.blackbox.program import audit_program
from leakwise.blackbox.result import BlackBoxAudit, Event, Interval
from leakwise.blackbox.samples import audit_samples

__all__ = ["BlackBoxAudit", "Event", "Interval", "audit_program", "audit_samples"]
