"""From columns with weights to a design: exact integers, names of outcomes, and the claim of optimality."""
