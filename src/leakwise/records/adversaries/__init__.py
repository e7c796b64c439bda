"""What an adversary may believe: beliefs that learn much, found by climbing."""
