"""What makes an execution fast, above the plain engine: regions, and the accelerator that makes them."""
