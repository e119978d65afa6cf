class BoundaryObserver:
    """What the plain floor tells whoever notes what happens at boundaries."""
