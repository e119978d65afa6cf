"""Runs a Plan: stops at any boundary or node of any nesting, and goes on (docs/dev/engine.md)."""
