"""Tries a model, and each of its loops, in another runtime, and compares that with what the rules say of it."""
