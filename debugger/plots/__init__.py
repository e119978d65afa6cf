"""Figures for files and notebooks. The only package that uses matplotlib."""
