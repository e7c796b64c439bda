"""The ledger: what was released, and what all of it reveals together."""
