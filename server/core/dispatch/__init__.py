"""The dispatcher: limits, rooms of threads, cancellation and the log of each call, for every transport."""
