"""Loops over single numbers and small tensors, run by a register machine."""
