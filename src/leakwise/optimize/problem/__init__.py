"""The problem: cones of allowed columns, and utilities of a column."""
