"""Breakpoints: locations, triggers, and their installation in the engine."""
