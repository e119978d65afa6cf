"""Sweeps: cases of many inputs and models, their rows, and the processes and clusters that run them."""
