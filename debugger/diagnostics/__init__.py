"""Faults that show in a run without a reference: overflow, a state that no longer changes, NaN in a comparison, ..."""
