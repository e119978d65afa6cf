"""Loops whose values are all single numbers, run by an interpreter over registers."""
