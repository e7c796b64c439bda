"""Stata and SPSS files: codes with labels, and several kinds of missing values, read and written by pyreadstat."""
