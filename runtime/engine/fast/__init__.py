"""Elementwise nodes that run together, one cache-sized block after the other."""
