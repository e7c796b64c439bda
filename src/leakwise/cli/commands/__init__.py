"""One module for each command, with a function ``register(app)``."""
