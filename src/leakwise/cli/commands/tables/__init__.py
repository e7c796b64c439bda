"""Commands for tables: what to release, the release itself, what is estimated from it, and the account of it."""
