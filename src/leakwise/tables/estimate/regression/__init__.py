"""Regression on released tables: likelihoods and scores that allow for the mechanisms."""
