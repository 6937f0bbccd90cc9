"""Clients that others' tools generate do a whole story alone: create, fit, index, train, search and count.

From openapi.json: openapi-typescript with openapi-fetch. From the folder proto: Connect for Node, and grpclib.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from registries import fetched, needs

from crossview.engine.collections.home import Home
from crossview.server.edge.http.openapi import openapi
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = Path(__file__).parent / "clients"
pytestmark = pytest.mark.long


def in_typescript(folder: Path) -> list[str]:
    """Generate the types from openapi.json, and check the program by them."""
    needs("node", "npm", "npx")
    (folder / "openapi.json").write_bytes(openapi("1.0.0"))
    (folder / "package.json").write_text('{"type": "module"}')
    packages = ("openapi-typescript@7", "openapi-fetch", "typescript@5", "@types/node@20")
    fetched(folder, "npm", "install", "--no-audit", "--no-fund", *packages)
    shutil.copy(CLIENTS / "story.ts", folder)
    run(folder, "npx", "openapi-typescript", "openapi.json", "-o", "api.d.ts")
    run(folder, "npx", "tsc", "--strict", "--module", "nodenext", "--target", "es2022", "--skipLibCheck", "story.ts")
    return ["node", str(folder / "story.js")]


def in_connect(folder: Path) -> list[str]:
    """Generate the messages and services for Node."""
    needs("node", "npm")
    (folder / "package.json").write_text('{"type": "module"}')
    packages = (
        "@connectrpc/connect@2",
        "@connectrpc/connect-node@2",
        "@bufbuild/protobuf@2",
        "@bufbuild/protoc-gen-es@2",
    )
    fetched(folder, "npm", "install", "--no-audit", "--no-fund", *packages)
    plugin = folder / "node_modules" / ".bin" / "protoc-gen-es"
    protoc(folder, f"--plugin=protoc-gen-es={plugin}", "--es_out=.", "--es_opt=target=js,import_extension=js")
    shutil.copy(CLIENTS / "story.mjs", folder)
    return ["node", str(folder / "story.mjs")]


def in_grpclib(folder: Path) -> list[str]:
    """Generate the messages and stubs for Python, in an environment without crossview."""
    run(folder, sys.executable, "-m", "venv", "environment")
    python = folder / "environment" / "bin" / "python"
    fetched(folder, str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "grpclib", "protobuf>=7")
    plugin = python.with_name("protoc-gen-grpclib_python")
    protoc(folder, f"--plugin=protoc-gen-grpclib_python={plugin}", "--python_out=.", "--grpclib_python_out=.")
    shutil.copy(CLIENTS / "story.py", folder)
    return [str(python), str(folder / "story.py")]


def protoc(folder: Path, *options: str) -> None:
    """Compile every file of the folder proto."""
    sources = sorted(str(path.relative_to(ROOT / "proto")) for path in (ROOT / "proto").rglob("*.proto"))
    run(folder, sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT / 'proto'}", *options, *sources)


def run(folder: Path, *command: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("make", [in_typescript, in_connect, in_grpclib], ids=["openapi", "connect", "grpclib"])
def test_a_generated_client_does_the_whole_story(make: object, tmp_path: Path, pictures: Path) -> None:
    """The program has no hand-written request; Connect's client reads by GET if the proto permits it."""
    assert callable(make)
    folder = tmp_path / "client"
    folder.mkdir()
    command = make(folder)
    files = sorted(str(path) for path in pictures.rglob("*.jpg"))
    settings = ServerSettings(home=Home(tmp_path / "home").path, host="localhost", port=0, http_port=0)
    with RunningServer(settings) as server:
        address = f"localhost:{server.port}" if make is in_grpclib else f"http://localhost:{server.http_port}"
        done = subprocess.run([*command, address, "mine", *files], env=os.environ, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    lines = done.stdout.splitlines()
    assert lines[:4] == [f"added {len(files)}", "trained cca", f"hit {Path(files[0]).name}", f"items {len(files)}"]
    assert lines[4:] == (["by GET private, no-store"] if make is in_connect else [])
