"""A shell and a Python program in which the blocks of one document run, one after another."""

import ast
import asyncio
import contextlib
import inspect
import io
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
from ports import free_port

_PROGRAMS = Path(sys.executable).parent
"""The folder of the commands that are processes of their own, and so take signals."""
_WITHIN = 600
"""Seconds within which a block must end."""
_ENDS_WITHIN = 120
_PORT = re.compile(r"(?:(?<=localhost:)|(?<=127\.0\.0\.1:)|(?<=port )|(?<=port = ))\d{4,5}\b")
"""Ports that the documents name; several documents run at once, so each has ports of its own."""
_SERVES = re.compile(r"^((?:[A-Z_]+=\S+ )*)(crossview (?:serve|open)\b(?!.*--print-config)[^&\n]*)$", re.M)
_IN_BACKGROUND = re.compile(r"^(crossview serve\b[^#\n]* & )", re.M)
_WATCHES = re.compile(r"^(crossview [^#\n]*(?:--watch|--follow|--every)\b[^\n]*)$", re.M)
_PRELUDE = r"""
set -euo pipefail
set -m
trap 'status=$?; kill $(jobs -p) 2>/dev/null || true; echo; echo "{mark} $status"' EXIT
serving=
serves() {{ # run a server in the background until the next one, and wait until it answers
    stops
    : > {own}/served
    PATH={programs}:$PATH env "$@" >> {own}/served 2>&1 & serving=$!
    for _ in $(seq 3000); do
        if grep -q "^crossview serves\|^http" {own}/served; then return; fi
        kill -0 $serving || break
        command sleep .1
    done
    cat {own}/served; return 1
}}
stops() {{
    if [ -n "$serving" ]; then kill $serving 2>/dev/null || true; wait $serving || true; serving=; cat {own}/served; fi
}}
sleep() {{ # for that time, and until the servers in the background answer
    command sleep "$@"
    for port in $(jobs -r | grep -o -- '--port [0-9]*' | cut -d' ' -f2); do
        for _ in $(seq 3000); do
            if (exec 3<>"/dev/tcp/localhost/$port") 2>/dev/null; then break; fi
            command sleep .1
        done
    done
}}
watches() {{ # run a command that goes on until Ctrl-C until it has said something, and for some seconds
    : > {own}/watched
    PYTHONUNBUFFERED=1 PATH={programs}:$PATH env "$@" > {own}/watched 2>&1 & watching=$!
    for _ in $(seq 3000); do
        if [ -s {own}/watched ]; then break; fi
        kill -0 $watching 2>/dev/null || break
        command sleep .1
    done
    command sleep 5
    kill -INT $watching 2>/dev/null || true
    watched=0; wait $watching || watched=$?
    cat {own}/watched
    [ $watched -eq 0 ] || [ $watched -eq 130 ]
}}
"""


class Session:
    """Runs blocks in a folder; close it after use.

    A command that serves goes on in the background until the next one; with ``brief``, until it answers. A command
    that watches ends after some seconds. ``replaced`` are texts of the document that are different here, and
    ``answers`` is what a person types.
    """

    def __init__(
        self,
        folder: Path,
        commands: Path,
        environment: dict[str, str],
        replaced: dict[str, str] | None = None,
        answers: str = "",
        brief: bool = False,
    ) -> None:
        self.folder, self.output = folder, ""
        self._serves = r"serves \1\2; stops" if brief else r"serves \1\2"
        self._own = folder.with_name(f"{folder.name}-session")
        self._own.mkdir()
        self._replaced = replaced or {}
        self._ports: dict[str, str] = {}
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._mark = f"--- {self._own.name} ended:"
        (self._own / "answers").write_text(answers)
        path = ":".join(map(str, (self._own, commands, Path(sys.executable).parent, os.environ["PATH"])))
        self._environment = os.environ | {"PATH": path, "BROWSER": "true", "PWD": str(folder), **environment}
        self._environment["CROSSVIEW_SERVE_PORT"] = self._port("50051")
        self._shell = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._tell(_PRELUDE.format(mark=self._mark, own=shlex.quote(str(self._own)), programs=_PROGRAMS))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End the shell and the processes that it runs in the background."""
        with contextlib.suppress(BrokenPipeError):
            self._tell("exit\n")
            self._read(time.monotonic() + _ENDS_WITHIN)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._shell.pid, signal.SIGKILL)
        for pipe in (self._shell.stdin, self._shell.stdout):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()  # type: ignore[union-attr]
        self._shell.wait()

    def here(self, text: str) -> str:
        """Return a text of the document as it is here: with ports that are free, and other texts replaced."""
        for old, new in self._replaced.items():
            text = text.replace(old, new)
        given = {port for new in self._replaced.values() for port in _PORT.findall(new)}
        return _PORT.sub(lambda found: found[0] if found[0] in given else self._port(found[0]), text)

    def shell(self, text: str, may_fail: bool = False) -> None:
        """Run lines of a shell. Raises AssertionError with the output if one of them fails, unless it may."""
        text = _SERVES.sub(self._serves, _WATCHES.sub(r"watches \1", self.here(text)))
        text = _IN_BACKGROUND.sub(r"stops; \1", text)
        (self._own / "block").write_text(text)
        own = shlex.quote(str(self._own))
        before, after = ("set +e\n", "set -e\n") if may_fail else ("", "")
        self._tell(
            f"{before}. {own}/block < {own}/answers\n{after}env -0 > {own}/environment; echo; echo '{self._mark}' 0\n"
        )
        printed, status = self._read(time.monotonic() + _WITHIN)
        self.output += printed
        assert status == 0, f"{text}\n{printed}"

    def python(self, text: str) -> None:
        """Run a program here, which knows the names of the earlier programs; warnings are errors."""
        known = (self._own / "environment").read_text() if (self._own / "environment").exists() else ""
        environment = dict(line.split("=", 1) for line in known.split("\0") if "=" in line) or self._environment
        code = compile(self.here(text), "block", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        printed = io.StringIO()
        with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
            patch.chdir(environment.get("PWD", self.folder))
            for name in environment:
                if name.startswith("CROSSVIEW_"):
                    patch.setenv(name, environment[name])
            if inspect.iscoroutine(awaited := eval(code, self._names)):  # noqa: S307 - as the document has it
                asyncio.run(awaited)
        self.output += printed.getvalue()

    def _port(self, named: str) -> str:
        return self._ports.setdefault(named, str(free_port()))

    def _tell(self, text: str) -> None:
        assert self._shell.stdin is not None
        self._shell.stdin.write(text.encode())
        self._shell.stdin.flush()

    def _read(self, until: float) -> tuple[str, int]:
        """Return what the shell printed up to the mark, and the status in the mark; 1 if the mark comes too late."""
        assert self._shell.stdout is not None
        printed = b""
        mark = re.compile(rf"^{re.escape(self._mark)} (\d+)$".encode(), re.M)
        while (left := until - time.monotonic()) > 0 and select.select([self._shell.stdout], [], [], left)[0]:
            piece = os.read(self._shell.stdout.fileno(), 1 << 16)
            printed += piece
            if ended := mark.search(printed):
                return printed[: ended.start()].decode(errors="replace"), int(ended[1])
            if not piece:
                break
        return printed.decode(errors="replace"), 1
