"""Debugging sessions: stepping forward and backward, branches and edits."""
