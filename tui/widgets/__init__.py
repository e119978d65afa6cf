"""Textual widgets of the panes, one per file."""
