"""Stepping through loops: the session and what it shows. It knows the runtime, and nothing of screens."""
