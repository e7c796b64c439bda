"""Designs under limits on all outcomes together: maximal leakage, and what survives post-processing."""
