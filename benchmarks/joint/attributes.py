"""The benchmark ``joint-attributes``."""

from benchmarks.joint.objects import BENCHMARKS

BENCHMARK = BENCHMARKS["joint-attributes"]
