"""What is asked of a dataset, and the classes of datasets that an answer cannot tell apart."""
