"""Tensors of any size, without a copy of them: statistics in one pass, windows of slices, what can be found in them."""
