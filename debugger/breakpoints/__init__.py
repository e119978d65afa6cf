"""Where a run stops, and how the engine is told."""
