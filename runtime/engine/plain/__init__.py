"""What an execution stands in: its state in C, the specs of values, slots and their memory."""
