"""The common frame of all benchmarks: command line, worker processes, resuming, record, tables and plots."""
