"""The answers to calls of any transport: dispatcher, services, jobs, writing, keys, metrics, open collections."""
