"""``python -m leakwise`` is the command line."""

from leakwise.cli import main

if __name__ == "__main__":
    main()
