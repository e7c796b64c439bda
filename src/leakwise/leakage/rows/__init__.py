"""What several mechanisms in turn reveal about the whole row that their secrets are in."""
