"""What is typed: options that several commands share, and the texts and files that they name."""
