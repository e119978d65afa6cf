"""Nodes that run together, one cache-sized block after the other, as plan/fusion/ says."""
