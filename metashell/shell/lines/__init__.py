"""What a typed line means, and running it: one command, a line, a script."""
