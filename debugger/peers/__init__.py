"""Live peers: other runtimes, each in a process of its own, so that what kills one of them kills nothing else."""
