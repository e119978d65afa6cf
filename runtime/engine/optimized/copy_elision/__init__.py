"""Copy elision: nodes that only show memory in another way, and need not run."""
