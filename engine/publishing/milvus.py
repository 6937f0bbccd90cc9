"""The connection to Milvus: calls with a limit of time, and errors that name the engine and the way out.

All calls of this program can be repeated without harm, so the library repeats a call that the engine did not answer
until the limit. After a failure, further calls fail at once for a while: an engine that is down or too slow must not
occupy every thread of a server.
"""

import importlib
import logging
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from crossview.engine.publishing.address import TOKEN, EngineAddress
from crossview.engine.values.errors import EngineFullError, EngineUnavailableError, NotReadyError, lacking

TESTED = "2.3.5 (server) and 2.5.1 (Lite)"
"""The versions of Milvus that the tests run."""
MOST_FOUND = 16_384
"""Hits or rows of one call, a limit of the engine."""
_TIMEOUT = 10.0
_FILE_STARTS = 30.0
"""Seconds in which an engine in a file must answer: it starts a process of its own, on a machine that may be busy."""
_LOADING, _LOOK_EVERY = 1_800.0, 0.1
"""Seconds that the engine may take to load a collection, and between two looks."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 4.0
"""Seconds in which calls fail at once after a failure; they double with each further failure."""
_MOMENT = 0.002
"""Seconds between two writes of Milvus Lite, which may apply those of one millisecond in another order."""
_FULL = ("quota", "exceed", "insufficient", "no space", "out of memory", "deny to write", "memory limit")
"""Words of the messages of an engine that takes no more data."""
_STARTING = ("not ready", "not available", "no available", "not loaded", "channel", "timeout", "timed out", "lack")
"""Words of the messages of an engine that has not loaded its data yet."""


class Milvus:
    """A connection to a Milvus server, or to Milvus Lite in a file; several threads may use it.

    It connects at the first call. Raises NotReadyError if the library is not installed.
    """

    def __init__(self, address: EngineAddress, timeout: float = _TIMEOUT) -> None:
        self.address = address
        self._timeout = timeout
        self._library = _library(address)
        self._client: Any = None
        self._connecting = threading.Lock()
        self._attempts = 0
        self._breaker = _Breaker()

    @property
    def negates(self) -> bool:
        """Whether expressions can have ``not`` and ``exists``, and collections can have aliases."""
        return not self.address.is_file

    def call(self, method: str, *arguments: Any, seconds: float = 0.0, **options: Any) -> Any:
        """Return what a method of the client of the library returns; it has some seconds [default: the usual limit].

        Raises EngineUnavailableError, EngineFullError, and NotReadyError for a call that the engine refuses.
        """
        with self._answered():
            answer = getattr(self._connected(), method)(*arguments, timeout=seconds or self._timeout, **options)
        if self.address.is_file and method in ("upsert", "delete"):
            time.sleep(_MOMENT)
        return answer

    def schema(self, fields: Mapping[str, tuple[str, Mapping[str, Any]]], description: str) -> Any:
        """Return a schema of fields, given with their type and its options; the first one is the primary key."""
        types = self._library.DataType
        schema = self._library.MilvusClient.create_schema(
            auto_id=False, enable_dynamic_field=False, description=description
        )
        for number, (name, (kind, options)) in enumerate(fields.items()):
            own = {key: getattr(types, value) if key == "element_type" else value for key, value in options.items()}
            schema.add_field(name, getattr(types, kind), is_primary=not number, **own)
        return schema

    def index(self, field: str, kind: str, metric: str, parameters: Mapping[str, Any]) -> Any:
        """Return the description of an index of a field."""
        index_params = self._library.MilvusClient.prepare_index_params()
        index_params.add_index(field, index_type=kind, metric_type=metric, params=dict(parameters))
        return index_params

    def pages(
        self, collection: str, expression: str, fields: Sequence[str], size: int
    ) -> Iterator[list[dict[str, Any]]]:
        """Yield the rows of a collection that fulfil an expression, so many at a time, in any order."""
        iterator = self.call(
            "query_iterator", collection, batch_size=size, filter=expression, output_fields=list(fields),
            consistency_level="Strong",
        )  # fmt: skip
        try:
            while True:
                with self._answered():
                    page = iterator.next()
                if not page:
                    return
                yield [dict(row) for row in page]
        finally:
            iterator.close()

    def load(self, collection: str) -> None:
        """Let the engine load a collection into its memory, which can take minutes; wait until it has done so.

        Raises as ``call``, and EngineUnavailableError if it takes too long.
        """
        self.call("load_collection", collection, _async=True)
        until = time.monotonic() + _LOADING
        while self.call("get_load_state", collection)["state"].name != "Loaded":
            if time.monotonic() > until:
                raise EngineUnavailableError(f"engine {self.address} has not loaded {collection} yet: wait")
            time.sleep(_LOOK_EVERY)

    def close(self) -> None:
        """Close the connection."""
        with self._connecting:
            if self._client is not None:
                self._client.close()
            self._client = None

    def _connected(self) -> Any:
        attempts = self._attempts
        with self._connecting:
            if self._client is None:
                address = self.address
                if attempts != self._attempts:  # others waited for an attempt, which failed: all of them give up
                    raise EngineUnavailableError(f"engine {address} does not answer: start it, or wait")
                self._attempts += 1
                options: dict[str, Any] = {"token": address.token, "timeout": self._timeout}
                if address.is_file:
                    options = {"timeout": self._timeout}
                if address.database:
                    options["db_name"] = address.database
                if address.uri.startswith("https"):
                    options |= {"secure": True, "server_pem_path": address.authorities}
                self._client = self._new_client(options)
            return self._client

    def _new_client(self, options: Mapping[str, Any]) -> Any:
        """Return a client of the library; the process of an engine in a file listens some time after its start."""
        until = time.monotonic() + (_FILE_STARTS if self.address.is_file else 0.0)
        while True:
            try:
                return self._library.MilvusClient(self.address.uri, **options)
            except self._library.MilvusException as error:
                if time.monotonic() > until or "Fail connecting" not in str(error):
                    raise
            time.sleep(_LOOK_EVERY)

    @contextmanager
    def _answered(self) -> Iterator[None]:
        """Turn the errors of the library into ours, and note whether the engine answered."""
        self._breaker.check(self.address)
        try:
            yield
        except Exception as error:
            own_error = self._understood(error)
            if own_error is None:
                raise
            if isinstance(own_error, EngineUnavailableError):
                self._breaker.failed()
            else:
                self._breaker.worked()
            raise own_error from error
        self._breaker.worked()

    def _understood(self, error: Exception) -> Exception | None:
        """Return our error for one of the library; None for another one."""
        of_transport = any(kind.__name__ == "RpcError" for kind in type(error).__mro__)  # its library is the server's
        if not isinstance(error, self._library.MilvusException) and not of_transport:
            return None
        code, short = getattr(error, "code", ""), " ".join(str(getattr(error, "message", "") or error).split())[:300]
        status = f"{code() if callable(code) else code} {short}"
        if of_transport or "StatusCode" in status or "connect" in short.lower():
            if "UNIMPLEMENTED" in status:
                return NotReadyError(f"engine {self.address} lacks a method that publishing needs: use Milvus {TESTED}")
            if "UNAUTHENTICATED" in status or "auth" in short.lower():
                return NotReadyError(f"engine {self.address} refuses the token in {TOKEN}: {short}")
            return EngineUnavailableError(f"engine {self.address} does not answer: start it, or wait ({short})")
        if any(word in short.lower() for word in _FULL):
            return EngineFullError(f"engine {self.address} takes no more data: give it memory or disk ({short})")
        if any(word in short.lower() for word in _STARTING):
            return EngineUnavailableError(f"engine {self.address} is starting or recovering: wait ({short})")
        return NotReadyError(f"engine {self.address} refused: {short}")


class _Breaker:
    """Lets calls fail at once for a while after a failure; one call then tries again."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._until, self._pause = 0.0, 0.0

    def check(self, address: EngineAddress) -> None:
        """Raise EngineUnavailableError in the pause after a failure."""
        with self._changing:
            now = time.monotonic()
            if now < self._until:
                raise EngineUnavailableError(f"engine {address} did not answer a moment ago: it is asked again soon")
            if self._pause:
                self._until = now + self._pause  # the others wait for the outcome of this call

    def failed(self) -> None:
        """Note a failure."""
        with self._changing:
            self._pause = min(2 * self._pause or _FIRST_PAUSE, _LONGEST_PAUSE)
            self._until = time.monotonic() + self._pause

    def worked(self) -> None:
        """Note an answer."""
        with self._changing:
            self._until, self._pause = 0.0, 0.0


def _library(address: EngineAddress) -> Any:
    """Return the library of Milvus; NotReadyError states how to install it."""
    try:
        library = importlib.import_module("pymilvus")
        for name in ("pymilvus", "pymilvus.milvus_client"):  # it logs what it raises, and sets its level at import
            logging.getLogger(name).setLevel(logging.CRITICAL)
        if address.is_file:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the way in which it finds its version
                importlib.import_module("milvus_lite")
    except ImportError as error:
        extra = "milvus-lite" if address.is_file else "publish"
        raise lacking(NotReadyError, f"engine {address} needs {error.name}", extra) from error
    return library
