"""Live peers: other runtimes, each in its own process, so that a crash of one affects nothing else."""
