"""Compares two recorded runs, or a run with a live peer. ``docs/diff.md`` is the user documentation."""
