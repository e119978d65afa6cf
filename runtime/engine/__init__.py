"""Runs a Plan: stops at any boundary or node of any nesting, and goes on. :mod:`.hot` is the hot path."""
