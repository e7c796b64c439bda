"""Estimates: the frequencies of the true values behind released ones."""
