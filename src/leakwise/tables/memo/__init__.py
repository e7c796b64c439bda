"""Draws that repeat: a key file, ids of persons, and outcomes that follow from both."""
