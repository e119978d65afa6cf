"""Other front ends, as thin over a session and its snapshot as the screen is."""
