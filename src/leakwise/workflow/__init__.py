"""A release in one call, step by step: arguments, columns that go out, mechanism and proof, advice, draw, report."""
