"""Commands for mechanisms: what one leaks, which is best, and whether its certificate holds."""
