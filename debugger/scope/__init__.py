"""Values: what a name means at a frame, in its iteration and in others."""
