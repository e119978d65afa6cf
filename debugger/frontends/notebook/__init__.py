"""Notebooks: HTML representations of objects, and a widget that steps a session."""
