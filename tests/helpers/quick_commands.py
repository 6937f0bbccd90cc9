"""A process that has imported crossview: each command is a fork of that process, because imports take most of the time.

A shell finds the commands under their usual name. ``serve`` stays a process of its own, which takes signals.
"""

import gc
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
_SOCKET = "commands"
_OWN = ("serve",)
"""Commands that are processes of their own."""
_CALLER = """#!{python} -IS
import json, os, socket, sys
if sys.argv[1] in {own}:
    os.execv({command!r}, [{command!r}, *sys.argv[1:]])
with socket.socket(socket.AF_UNIX) as calls:
    calls.connect({path!r})
    socket.send_fds(calls, [b"."], [0, 1, 2])
    calls.sendall(json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode())
    calls.shutdown(socket.SHUT_WR)
    status = calls.recv(1)
    calls.recv(1)
sys.exit(status[0] if status else "the command died")
"""
"""The program that hands a command and its terminal to the process."""


@contextmanager
def quick_commands() -> Iterator[Path]:
    """Start the process; yield the folder with the command ``crossview``, which goes first into ``PATH``."""
    folder = Path(tempfile.mkdtemp(prefix="cv-"))  # a short path: those of sockets have at most 107 characters
    path, command = str(folder / _SOCKET), str(Path(sys.executable).with_name("crossview"))
    caller = folder / "crossview"
    caller.write_text(_CALLER.format(python=os.path.realpath(sys.executable), own=_OWN, command=command, path=path))
    caller.chmod(0o755)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, __file__, path], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield folder
        finally:
            process.communicate()  # it ends with its input
            shutil.rmtree(folder)


def _serve(path: str) -> None:
    """Fork for every command until the input closes."""
    import crossview.server.commands.cli
    import crossview.server.commands.demo.story
    import crossview.server.core.jobs.worker  # noqa: F401  # what searches and trainings import

    gc.collect()
    gc.freeze()  # otherwise the end of a fork visits, and so copies, every object: a second
    with socket.socket(socket.AF_UNIX) as calls:
        calls.bind(path)
        calls.listen()
        print("ready", flush=True)
        running: set[int] = set()
        while sys.stdin not in select.select([calls, sys.stdin], [], [])[0]:
            call, _ = calls.accept()
            if (child := os.fork()) == 0:
                calls.close()
                sys.exit(_carry_out(call))
            call.close()
            running = {one for one in {*running, child} if os.waitpid(one, os.WNOHANG) == (0, 0)}
        for one in running:
            os.waitpid(one, 0)


def _carry_out(call: socket.socket) -> int:
    """Run a command in the terminal, the folder and the environment of its caller, and tell it the status."""
    from crossview.server.commands.cli import main

    _, files, _, _ = socket.recv_fds(call, 1, 3)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    with call.makefile("rb") as message:
        words, folder, environment = json.load(message)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["crossview", *words]
    try:
        main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001  # as an interpreter that ends by an error
        traceback.print_exc()
        status = 1
    call.sendall(bytes([status]))
    call.detach()  # it stays open until the process has ended, for which the caller waits
    return status


if __name__ == "__main__":
    _serve(sys.argv[1])
