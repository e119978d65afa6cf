"""What the values of loops were at all boundaries, for whoever looks: off unless asked for."""
