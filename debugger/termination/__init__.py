"""Termination analysis: why a loop ended or goes on, from its condition and the values over the iterations."""
