class BoundaryObserver:
    """Interface through which the baseline tier reports boundaries."""
