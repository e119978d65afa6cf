"""Many inputs, many models: cases, what each of them gave as rows, and the processes and clusters that run them."""
