"""Sets for benchmarks of retrieval: real and drawn ones, divided into those for development and those for reports."""
