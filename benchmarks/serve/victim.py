"""The server of a hostile run: watched, asked for its health, and started again where it has ended."""

import json
from contextlib import ExitStack, suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import grpc
import numpy as np
from google.protobuf.descriptor import MethodDescriptor

from benchmarks.serve.drawn import picture
from benchmarks.serve.figures import OURS, figure
from benchmarks.serve.findings import ENDED, FAULTS, LATE, Findings, health_checks, of_call
from benchmarks.serve.load import NAMES, status_of
from benchmarks.serve.process import free_port, serving, watched
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import collections_pb2_grpc
from crossview.v1.types_pb2 import Vector

NAME, ITEMS, DIM = "hostile", 20, 3
_PATIENCE, _ANSWERS = 30.0, 100
_UNANSWERED = f"calls without an answer in {_PATIENCE:g} s"
_OPTIONS = [
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.use_local_subchannel_pool", 1),
]


class Victim:
    """A server with a small collection, and a port for HTTP; a context manager."""

    def __init__(self, folder: Path) -> None:
        self._home = folder / "home"
        self.findings, self.memory, self.health = Findings(), list[int](), list[float]()
        self._sent = 0

    def __enter__(self) -> Self:
        self._stack = ExitStack()
        self.http = f"127.0.0.1:{(port := free_port())}"
        self._server = self._stack.enter_context(serving(self._home, "--http-port", str(port)))
        self.address = self._server.address
        self._seen = self._stack.enter_context(watched(self._server))
        self._checks = self._stack.enter_context(health_checks(self.address))
        self._channel = self._stack.enter_context(grpc.insecure_channel(self.address, options=_OPTIONS))
        self.furnish()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        self._stack.close()
        self.memory += self._seen
        self.health += self._checks

    def furnish(self) -> None:
        """Make the collection again, as far as it is not there."""
        stub = collections_pb2_grpc.CollectionServiceStub(self._channel)
        parent, generator = f"collections/{NAME}", np.random.default_rng(0)
        items = [
            pb.NewItem(
                key=str(number),
                rows={"v": Vector(values=generator.standard_normal(DIM).tolist())},
                labels=[f"label{number % 2}"],
                text=f"text number {number % 5} of {number % 3}",
                image=picture(number, size=(64, 48)),
            )
            for number in range(ITEMS)
        ]
        steps: list[tuple[Any, Any]] = [
            (stub.CreateCollection, pb.CreateCollectionRequest(collection_id=NAME, views=[f"v=vectors:dim={DIM}"])),
            (stub.AddView, pb.AddViewRequest(parent=parent, spec="text")),
            (stub.AddView, pb.AddViewRequest(parent=parent, spec="color")),
            (stub.ImportItems, pb.ImportItemsRequest(parent=parent, items=items)),
            (stub.FitViews, iter([pb.FitViewsRequest(parent=parent, views=["text"])])),
            (stub.Train, pb.TrainRequest(parent=parent, learner="pca", views=["v"], dim=2, space_id="pca")),
        ]
        for call, request in steps:
            with suppress(grpc.RpcError):  # what is there already is refused
                call(request, timeout=_PATIENCE)

    def send(self, part: str, path: str, method: MethodDescriptor | None, request: bytes) -> None:
        """Make a call, unary for no method, and note its result; a stream has the request twice.

        Every second unary call goes over HTTP, by the protocol of Connect.
        """
        self._sent += 1
        if self._sent % 2 and (method is None or not (method.client_streaming or method.server_streaming)):
            self.findings.note(part, path, request, *self._posted(path, request))
        else:
            try:
                self._called(path, method, request)
                self.findings.note(part, path, request, "OK")
            except grpc.RpcError as error:
                self.findings.note(part, path, request, *of_call(error))
        self.revive(part, path, request)

    def _posted(self, path: str, request: bytes) -> tuple[str, str]:
        """Return the status and message of a call over HTTP."""
        connection = HTTPConnection(self.http, timeout=_PATIENCE)
        try:
            connection.request("POST", path, request, {"content-type": "application/proto"})
            with connection.getresponse() as answer:
                body = answer.read()
                if answer.status == HTTPStatus.OK:
                    return "OK", ""
            refused = json.loads(body)
            return refused["code"].upper(), refused.get("message", "")
        except TimeoutError:
            return LATE, "no answer over HTTP"
        except (OSError, HTTPException) as error:
            return "UNAVAILABLE", f"over HTTP: {error}"
        except (ValueError, KeyError):  # a refusal always has a code
            return "INTERNAL", f"over HTTP: {body[:100]!r}"
        finally:
            connection.close()

    def revive(self, part: str, path: str, request: bytes) -> None:
        """Start the server again where it has ended, which is noted as of this request."""
        if not self._server.alive:
            self.findings.note(part, path, request, ENDED, "the server process ended")
            self.__exit__()
            self.__enter__()

    def figures(self) -> list[dict[str, Any]]:
        """Return the calls by part and status, and what has a limit; once the run has ended."""
        checks = np.array(self.health)
        totals = {
            "calls that failed by the server": self.findings.total(*FAULTS) + self.findings.faults_of_http(),
            _UNANSWERED: self.findings.total(LATE),
            "ends of the server": self.findings.total(ENDED),
            "most memory, MB": max(self.memory) / 1e6,
            "health checks": len(checks),
            "health checks failed": int(np.isinf(checks).sum()),
            "longest health check, ms": 1_000 * float(np.max(checks[np.isfinite(checks)], initial=0.0)),
        }
        return [*self.findings.rows(), *(figure("hostile", "all", OURS, name, value) for name, value in totals.items())]

    def _called(self, path: str, method: MethodDescriptor | None, request: bytes) -> None:
        channel: Any = self._channel
        messages = iter([request, request])
        if method is None or not (method.client_streaming or method.server_streaming):
            channel.unary_unary(path)(request, timeout=_PATIENCE)
        elif not method.server_streaming:
            channel.stream_unary(path)(messages, timeout=_PATIENCE)
        else:
            stream = channel.stream_stream(path)(messages, timeout=_PATIENCE)
            errors = "error" in method.output_type.fields_by_name
            for number, answer in enumerate(stream):
                if errors and (name := NAMES[status_of(answer)]) in FAULTS:
                    self.findings.note("streams", path, request, name)
                if number == _ANSWERS:
                    stream.cancel()
                    return
