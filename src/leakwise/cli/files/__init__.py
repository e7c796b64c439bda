"""The files that a release reads and writes: checked before anything is drawn, changed together or not at all."""
