"""The command line: one module per command, assembled in :mod:`leakwise.cli.app`."""

from leakwise.cli.app import app, main

__all__ = ["app", "main"]
