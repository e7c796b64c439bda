"""The command line: what is typed (options), done (commands), kept (files) and shown (screen); see ``app``."""

from leakwise.cli.app import app, main

__all__ = ["app", "main"]
