"""Coverage-guided fuzzing of a model: inputs that expose a fault, shrunk, next to inputs that do not."""
