"""Regenerates server/pb from proto/: messages, stubs and their types.

    python tools/proto.py            write server/pb
    python tools/proto.py --check    change nothing; exit 1 if server/pb differs from what proto/ gives
    python tools/proto.py --lint     change nothing; check proto/ by buf and buf.yaml, with npx

The generated code imports itself as ``crossview.v1``, which is a link to server/pb. proto/google has those files of
googleapis-common-protos that proto/crossview imports, so that clients in other languages need no other files; Python
takes their generated code from that package.
"""

import argparse
import filecmp
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROTO = ROOT / "proto"
PB = ROOT / "server" / "pb"
BUF = "@bufbuild/buf@1.75.0"
DOCSTRING = "The gRPC interface, generated from proto/ by tools/proto.py."


def compile_protos(out: Path) -> None:
    """Run protoc over every file of proto/crossview into ``out``; raise RuntimeError if it fails."""
    from grpc_tools import protoc  # type: ignore[import-untyped]  # it has no types

    sources = sorted(str(path.relative_to(PROTO)) for path in (PROTO / "crossview").rglob("*.proto"))
    outputs = [f"--{kind}_out={out}" for kind in ("python", "grpc_python", "mypy", "mypy_grpc")]
    plugins = [
        f"--plugin=protoc-gen-{name}={Path(sys.executable).parent / f'protoc-gen-{name}'}"
        for name in ("mypy", "mypy_grpc")
    ]
    included = [f"-I{folder}" for folder in (PROTO, files("grpc_tools") / "_proto")]
    if protoc.main(["protoc", *included, *plugins, *outputs, *sources]) != 0:
        raise RuntimeError("protoc failed; its messages are above")


def generate(out: Path) -> None:
    """Write all of server/pb into ``out``, which must not exist."""
    with tempfile.TemporaryDirectory() as scratch:
        compile_protos(Path(scratch))
        shutil.copytree(Path(scratch) / "crossview" / "v1", out)
    (out / "__init__.py").write_text(f'"""{DOCSTRING}"""\n')


def generated(folder: Path) -> Iterator[Path]:
    """Return the Python files and type stubs below a folder, in order."""
    return (path for path in sorted(folder.rglob("*.py*")) if path.suffix in {".py", ".pyi"})


def differences(fresh: Path) -> list[str]:
    """Return the names of files that differ between a fresh generation and server/pb, or exist in one only."""
    names = {str(path.relative_to(folder)) for folder in (fresh, PB) for path in generated(folder)}
    _, unequal, missing = filecmp.cmpfiles(fresh, PB, sorted(names), shallow=False)
    return sorted(unequal + missing)


def lint() -> int:
    """Check the proto files with buf; return its exit status."""
    npx = shutil.which("npx") or "/usr/bin/npx"
    return subprocess.run([npx, "--yes", BUF, "lint"], cwd=ROOT, check=False).returncode


def main() -> int:
    """Regenerate server/pb, or check it or proto/; return the exit status."""
    parser = argparse.ArgumentParser(description="Regenerate server/pb from proto/.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if server/pb is out of date")
    parser.add_argument("--lint", action="store_true", help="change nothing; check proto/ by buf and buf.yaml")
    chosen = parser.parse_args()
    if chosen.lint:
        return lint()
    check = chosen.check
    with tempfile.TemporaryDirectory() as scratch:
        fresh = Path(scratch) / "pb"
        generate(fresh)
        stale = differences(fresh)
        if check:
            late = f"out of date, run `make proto`: {', '.join(stale)}"
            print(f"server/pb is {late if stale else 'up to date'}")
            return bool(stale)
        shutil.rmtree(PB, ignore_errors=True)
        shutil.copytree(fresh, PB)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
