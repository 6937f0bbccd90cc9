"""The benchmark ``joint-poses``."""

from benchmarks.joint.objects import BENCHMARKS

BENCHMARK = BENCHMARKS["joint-poses"]
