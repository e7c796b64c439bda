"""What is shown: tables, JSON, and progress on a terminal."""
