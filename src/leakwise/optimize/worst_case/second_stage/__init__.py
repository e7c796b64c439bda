"""The second stage: among the mechanisms on a mask, the one of greatest second utility."""
