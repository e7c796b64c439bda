"""The searches: which columns a mechanism is made of, one module for each kind of problem."""
