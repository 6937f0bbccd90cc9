"""The papers' protocols and the speed comparisons: ``python -m benchmarks NAME ...``."""
