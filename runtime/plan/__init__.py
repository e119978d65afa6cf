"""Lowering of graphs to plans: instruction order, slots, and kernel calls of each operator."""
