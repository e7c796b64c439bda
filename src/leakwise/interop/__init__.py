"""Mechanisms for other people's libraries, and from them: dp_accounting and OpenDP."""
