"""Which nodes of a body run together, and what is called for a block of them; the engine finds them and runs them."""
