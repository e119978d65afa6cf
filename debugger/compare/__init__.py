"""Comparing runs: two streams of boundaries, or one run with a live peer. ``docs/diff.md`` tells users of it."""
