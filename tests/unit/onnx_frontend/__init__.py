"""A package, so that its tests can share ``texts``."""
