"""``python -m benchmarks NAME ...``: runs a benchmark by name."""

import importlib
import sys

BENCHMARKS = {
    "multi-npp": "benchmarks.multi_npp.benchmark",
    "extract": "benchmarks.speed.extract",
    "storage": "benchmarks.speed.storage",
    "wikipedia": "benchmarks.wikipedia.benchmark",
    "npp-scale": "benchmarks.speed.npp_scale",
    "fantope-toy": "benchmarks.fantope_toy.benchmark",
    "hashing": "benchmarks.hashing.benchmark",
    "hamming-speed": "benchmarks.speed.hamming",
    "verification": "benchmarks.verification.benchmark",
    "metric-speed": "benchmarks.speed.metrics",
    "attributes-lmnn": "benchmarks.attributes_lmnn.benchmark",
    "musl": "benchmarks.musl.benchmark",
}


def main(arguments: list[str]) -> int:
    """Runs the benchmark that the first argument names, with the others; returns the exit status."""
    if not arguments or arguments[0] not in BENCHMARKS:
        asked = arguments in (["-h"], ["--help"])
        usage = f"usage: python -m benchmarks {{{','.join(BENCHMARKS)}}} ..."
        print(usage, file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    status = importlib.import_module(BENCHMARKS[arguments[0]]).main(arguments[1:])
    return int(status or 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
