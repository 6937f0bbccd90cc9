"""``python -m benchmarks NAME ...``: runs a benchmark by name; ``figures`` writes those of the documents."""

import sys

from benchmarks.registry import MODULES, benchmark


def main(arguments: list[str]) -> int:
    """Run what the first argument names with the others; return the exit status."""
    if arguments[:1] == ["figures"]:
        from benchmarks import figures

        return figures.main(arguments[1:])
    if arguments[:1] == ["data"]:
        from benchmarks.sets import sources

        return sources.main(arguments[1:])
    if not arguments or arguments[0] not in MODULES:
        wants_help = arguments in (["-h"], ["--help"])
        usage = f"usage: python -m benchmarks {{{','.join([*MODULES, 'data', 'figures'])}}} ..."
        print(usage, file=sys.stdout if wants_help else sys.stderr)
        return 0 if wants_help else 2
    return benchmark(arguments[0]).main(arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
