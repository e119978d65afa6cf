"""Other front ends, as thin over a session and the state of its stop as the screen is."""
