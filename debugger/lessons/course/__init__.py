"""The lessons of the built-in course, one per file."""
