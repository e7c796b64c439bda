"""The best mechanism on a query: least leakage for a distortion, least distortion for a leakage."""
