"""Where a model loses precision in a narrower type, and which of its nodes have to stay wide."""
