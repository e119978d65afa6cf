"""Rewrites that make a model faster: each found on the graph, verified on many inputs, and measured."""
