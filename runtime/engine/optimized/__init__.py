"""The optimized tier above the baseline engine: regions, and the optimizer that makes them."""
