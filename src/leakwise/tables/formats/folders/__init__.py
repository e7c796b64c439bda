"""Tables in several files: what belongs to one, and how it is read."""
