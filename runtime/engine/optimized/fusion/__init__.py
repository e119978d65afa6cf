"""Fused groups of nodes, run block by block in cache-sized blocks, as plan/fusion/ plans them."""
