"""Sets of priors: balls, boxes, hulls and what a sample leaves possible."""
