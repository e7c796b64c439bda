"""Many releases of one secret, without listing their joint outcomes."""
