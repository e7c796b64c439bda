"""Upper bounds that no mechanism exceeds, found without a search."""
