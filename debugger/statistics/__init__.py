"""Statistics of tensors of any size without copying them: one-pass statistics, windows of slices, element search."""
