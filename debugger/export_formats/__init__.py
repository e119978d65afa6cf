"""Exports values in file formats of other programs."""
