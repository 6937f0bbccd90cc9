"""Regenerates server/pb from proto/: messages, stubs and their types.

    python tools/proto.py            write server/pb
    python tools/proto.py --check    change nothing; exit 1 where server/pb is not what proto/ gives
    python tools/proto.py --lint     change nothing; check proto/ by buf and buf.yaml, with npx

Plain ``-Iproto`` gives imports such as ``from crossview.v1 import types_pb2``; the generated code is in ``server.pb``,
so they are rewritten, and none may be left over.
"""

import argparse
import filecmp
import re
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
OURS = "crossview"
PREFIX = "server.pb."
IMPORT = re.compile(rf"^(\s*)(from|import) ({OURS}\.[\w.]+)", re.MULTILINE)
USE = re.compile(rf"(?<![\w./\"'])({OURS}\.v\d+\.\w+_pb2)(?=[.\s])")
BUF = "@bufbuild/buf@1.75.0"
PACKAGES = {"": "The gRPC interface, generated from proto/ by tools/proto.py.", OURS: "", f"{OURS}/v1": ""}


def compile_protos(out: Path) -> None:
    """Runs protoc over every file of proto/ into ``out``; raises RuntimeError where it fails."""
    from grpc_tools import protoc  # type: ignore[import-untyped]  # it has no types

    sources = sorted(str(path.relative_to(PROTO)) for path in PROTO.rglob("*.proto"))
    bundled = [str(files("grpc_tools") / "_proto"), *google_protos(out / "include")]
    outputs = [f"--{kind}_out={out}" for kind in ("python", "grpc_python", "mypy", "mypy_grpc")]
    plugins = [
        f"--plugin=protoc-gen-{name}={Path(sys.executable).parent / f'protoc-gen-{name}'}"
        for name in ("mypy", "mypy_grpc")
    ]
    included = [f"-I{folder}" for folder in (PROTO, *bundled)]
    if protoc.main(["protoc", *included, *plugins, *outputs, *sources]) != 0:
        raise RuntimeError("protoc failed; its messages are above")
    shutil.rmtree(out / "include")


def google_protos(scratch: Path) -> tuple[str, str]:
    """Folders to include for google.longrunning and google.rpc, of googleapis-common-protos.

    The package has its file under another name than the one it is compiled as, by which others import it.
    """
    from google.longrunning import operations_pb2

    folder = Path(operations_pb2.__file__).parent
    renamed = scratch / "google" / "longrunning"
    renamed.mkdir(parents=True)
    shutil.copyfile(folder / "operations_proto.proto", renamed / "operations.proto")
    return str(scratch), str(folder.parent.parent)


def rewrite(text: str) -> str:
    """Moves imports of our generated modules below ``server.pb``."""
    moved = IMPORT.sub(rf"\1\2 {PREFIX}\3", text)
    return USE.sub(rf"{PREFIX}\1", moved)


def leftovers(text: str) -> list[str]:
    """Import lines that still name our package at the top level."""
    return [match.group(0).strip() for match in IMPORT.finditer(text)]


def generate(out: Path) -> None:
    """Writes all of server/pb into ``out``; raises RuntimeError where an import was not moved."""
    out.mkdir(parents=True, exist_ok=True)
    compile_protos(out)
    for path in generated(out):
        text = rewrite(path.read_text())
        if left := leftovers(text):
            raise RuntimeError(f"{path.name}: imports that were not moved: {left}")
        path.write_text(text)
    for package, docstring in PACKAGES.items():
        (out / package / "__init__.py").write_text(f'"""{docstring}"""\n' if docstring else "")


def generated(folder: Path) -> Iterator[Path]:
    """The Python files and type stubs below a folder, in order."""
    return (path for path in sorted(folder.rglob("*.py*")) if path.suffix in {".py", ".pyi"})


def differences(fresh: Path) -> list[str]:
    """Names of files that differ between a fresh generation and server/pb, or exist in one only."""
    names = {str(path.relative_to(folder)) for folder in (fresh, PB) for path in generated(folder)}
    _, unequal, missing = filecmp.cmpfiles(fresh, PB, sorted(names), shallow=False)
    return sorted(unequal + missing)


def lint() -> int:
    """Checks the proto files by buf, beside the files of Google that they import; returns its exit status."""
    with tempfile.TemporaryDirectory() as scratch:
        workspace = Path(scratch)
        shutil.copytree(PROTO, workspace / "proto")
        _, bundled = google_protos(workspace / "imported")
        for path in Path(bundled).glob("google/[ar]p[ic]/*.proto"):
            copied = workspace / "imported" / path.relative_to(bundled)
            copied.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, copied)
        config = (ROOT / "buf.yaml").read_text().replace("  - path: proto\n", "  - path: proto\n  - path: imported\n")
        (workspace / "buf.yaml").write_text(config)
        npx = shutil.which("npx") or "/usr/bin/npx"
        return subprocess.run([npx, "--yes", BUF, "lint", "proto"], cwd=workspace, check=False).returncode


def main() -> int:
    """Regenerates, or checks."""
    parser = argparse.ArgumentParser(description="Regenerate server/pb from proto/.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 where server/pb is out of date")
    parser.add_argument("--lint", action="store_true", help="change nothing; check proto/ by buf and buf.yaml")
    chosen = parser.parse_args()
    if chosen.lint:
        return lint()
    check = chosen.check
    with tempfile.TemporaryDirectory() as scratch:
        fresh = Path(scratch)
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
