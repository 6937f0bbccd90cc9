"""What every benchmark shares: command line, worker processes, resuming, record, tables and plots."""
