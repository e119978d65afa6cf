"""Time and memory of a run by loop, iteration and node, next to another runtime's."""
