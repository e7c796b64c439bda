"""What no adversary learns more of: proven upper bounds on the leakage of a record, and their certificates."""
