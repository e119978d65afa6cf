"""Values: what a name means at a frame, in the iteration that it shows and in others."""
