"""A server in a process of its own, and clients in others: its speed, a hostile run, and ten minutes of mixed load."""
