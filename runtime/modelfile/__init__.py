"""Edits of model files: a copy or a part of a file keeps everything else unchanged."""
