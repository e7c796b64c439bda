"""The paper trail of a release: its files, every number computed again, and an evaluation, in one archive."""
