"""A Milvus server of the tests, on loopback: started, stopped, killed and started again on the same data."""

import fcntl
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from ports import free_port

from crossview.engine.publishing.address import engine_address
from crossview.engine.publishing.milvus import Milvus
from crossview.engine.values.errors import CrossviewError

_ENVIRONMENT = Path(__file__).parents[2] / ".venv-engines"
_PYTHON, _UNPACKED = _ENVIRONMENT / "bin" / "python", _ENVIRONMENT / "milvus" / "bin"
_CONFIGURE = """
import sys, milvus
folder, proxy, *others = sys.argv[1:]
configuration = milvus.MilvusServerConfig(data_dir=folder, proxy_port=proxy)
names = [name for name in configuration.configurable_items if name.endswith("_port") and name != "proxy_port"]
configuration.update(**dict(zip(names, others)))
configuration.resolve()
"""
"""Its own choices lie among the ports of outgoing connections, which take them while the server is down."""
_PORTS = 20
"""More than its parts listen on, besides the proxy."""
_READY_WITHIN = 600.0
"""Seconds until a server must answer."""
_LAUNCHES = 4
"""A server that starts again ends if another program has taken one of its ports meanwhile."""


def skip_without_server() -> None:
    """Skip the test if the environment of the server is not made."""
    if not _UNPACKED.is_dir():
        pytest.skip("needs a Milvus server: make engines")


class MilvusServer:
    """A server with its data in a folder; it is not running before ``start``."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.port = folder, free_port()
        self._configuration = folder / "configs" / "milvus.yaml"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """The address of the engine."""
        return f"milvus://127.0.0.1:{self.port}"

    def start(self) -> float:
        """Start it, and wait until it answers; return the seconds that this took."""
        began = time.monotonic()
        # It chooses several free ports before it uses them: two servers that start at once would choose the same.
        with (Path(tempfile.gettempdir()) / "crossview-milvus-start.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self._configuration.exists():
                self._write_configuration()
            for _ in range(_LAUNCHES):
                self._launch()
                if self._answers(began + _READY_WITHIN):
                    return time.monotonic() - began
        raise AssertionError("the server ended")

    def _launch(self) -> None:
        own = {
            "DEPLOY_MODE": "STANDALONE",
            "LD_LIBRARY_PATH": str(_UNPACKED),
            "METRICS_PORT": str(free_port()),
            "MILVUS_RUN_DIR": str(self._folder / "run"),
        }
        with (self._folder / "logs" / "output").open("ab") as log:
            self._process = subprocess.Popen(
                [_UNPACKED / "milvus", "run", "standalone"],
                cwd=self._folder,
                env=os.environ | own,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def stop(self) -> None:
        """End it; it writes its memory."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once, as a loss of power would."""
        self._end(signal.SIGKILL)

    def configure(self, old: str, new: str) -> None:
        """Replace a text of its configuration file, which it reads again within seconds."""
        text = self._configuration.read_text()
        assert old in text
        self._configuration.write_text(text.replace(old, new, 1))

    def _write_configuration(self) -> None:
        """Write the configuration of the server, and that of the etcd in it, whose ports are otherwise fixed."""
        ports = set[int]()
        while len(ports) < _PORTS:
            ports |= {free_port()} - {self.port}
        first, second, *parts = map(str, ports)
        subprocess.run([_PYTHON, "-c", _CONFIGURE, self._folder, str(self.port), *parts], check=True)
        clients, peers = (f"http://127.0.0.1:{port}" for port in (first, second))
        etcd = self._folder / "configs" / "etcd.yaml"
        etcd.write_text(
            f"listen-client-urls: {clients}\nadvertise-client-urls: {clients}\nlisten-peer-urls: {peers}\n"
            f"initial-advertise-peer-urls: {peers}\ninitial-cluster: default={peers}\n"
        )
        self.configure("etcd:\n", f"etcd:\n  config:\n    path: {etcd}\n")

    def _end(self, sent: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(sent)
        try:
            self._process.wait(30)  # an orderly end may never come; acknowledged writes stay
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _answers(self, until: float) -> bool:
        """Wait until the server answers a question that needs all of its parts; return False if it ends before."""
        while True:
            connection = Milvus(engine_address(self.address), timeout=5)
            try:
                if not connection.call("has_collection", "cv_ready"):
                    return True
            except CrossviewError:
                assert self._process is not None
                if self._process.poll() is not None:
                    return False
                assert time.monotonic() < until, "the server does not answer"
                time.sleep(0.5)
            finally:
                connection.close()
