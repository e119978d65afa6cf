"""Traces: runs recorded in SQLite files, boundary by boundary. ``docs/traces.md`` documents the tables."""
