"""Planning of fusion groups: nodes of a loop body that run block by block, and their kernel calls."""
