"""Bounds on leakage when the prior is wrong, or known only from a sample."""
