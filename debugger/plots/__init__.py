"""Pictures for files and notebooks: what runs over iterations, and what tensors hold. Only here matplotlib is used."""
