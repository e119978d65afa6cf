"""Expression scopes: the meaning of a name at a frame, in its iteration and in others."""
