"""Runs a Plan: stops at any boundary or node of any nesting, and resumes (docs/dev/engine.md)."""
