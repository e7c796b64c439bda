"""Measures of leakage, one module for each family."""
