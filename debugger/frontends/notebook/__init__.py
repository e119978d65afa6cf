"""Notebooks: what objects look like there, and a widget that steps a session."""
