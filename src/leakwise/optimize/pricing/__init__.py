"""Pricing: the column of the cone that is worth most at given duals, exactly or with a bound."""
