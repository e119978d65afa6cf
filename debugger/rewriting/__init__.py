"""Rewrites of model files: an edit in place, verified on many inputs, and written with everything else unchanged."""
