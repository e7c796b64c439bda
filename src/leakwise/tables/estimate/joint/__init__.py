"""Several released columns at once: their joint table, its margins and conditionals, tests, and numbers from values."""
