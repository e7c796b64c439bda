"""What mechanisms are worth, and several of them side by side at equal leakage or equal utility."""
