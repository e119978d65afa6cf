"""The space of a model's inputs: random draws, edge cases, mutations and shrink steps."""
