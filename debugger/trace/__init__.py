"""Traces: runs recorded in SQLite files, boundary by boundary. ``docs/traces.md`` describes the tables."""
