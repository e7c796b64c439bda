"""The least leakage on a mask: the parametric search for the least ratio."""
