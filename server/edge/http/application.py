"""The ASGI application of a server: calls, uploads, health and the description of the interface."""

from collections.abc import Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from crossview.server.core.exposure import host_name, is_known_host, is_loopback
from crossview.server.edge.http.calls import Calls, MethodRoute
from crossview.server.edge.http.openapi import openapi
from crossview.server.edge.http.uploads import UPLOAD_PATH, Uploads
from crossview.server.wire.settings import ServerSettings

_HEADERS = (
    *("content-type", "authorization", "connect-protocol-version", "connect-timeout-ms", "connect-content-encoding"),
    *("x-grpc-web", "x-user-agent", "grpc-timeout", "grpc-encoding", "traceparent", "tracestate"),
)
"""Headers that pages of the origins may send."""
_DAY = 86_400


def application(
    calls: Calls,
    settings: ServerSettings,
    serving: Callable[[], bool],
    version: str,
    routes: Sequence[BaseRoute] = (),
) -> Any:
    """Return the ASGI application.

    Args:
        calls: the dispatcher, and the limits that all calls and pages share.
        settings: the limits, and the origins whose pages may call the server.
        serving: returns whether the server serves; GET /health reports it.
        version: the version of the program.
        routes: further routes, such as pages.
    """

    async def health(request: Request) -> Response:
        status = "SERVING" if serving() else "NOT_SERVING"
        return JSONResponse({"status": status}, 200 if serving() else 503)

    async def description(request: Request) -> Response:
        return Response(openapi(version), media_type="application/json")

    own = (
        MethodRoute(calls),
        Route("/health", health),
        Route("/healthz", health),
        Route("/openapi.json", description),
        Route(UPLOAD_PATH, Uploads(calls, settings.message_bytes), methods=["POST"]),
    )
    origins = Middleware(
        CORSMiddleware,
        allow_origins=settings.http_origins,
        allow_methods=["GET", "POST"],
        allow_headers=_HEADERS,
        expose_headers=["grpc-status", "grpc-message", "grpc-status-details-bin", "retry-after"],
        max_age=_DAY,
    )
    middleware = [Middleware(KnownHosts, names=known_hosts(settings)), *([origins] if settings.http_origins else [])]
    return Starlette(routes=[*own, *routes], middleware=middleware, exception_handlers={HTTPException: _refused})


async def _refused(request: Request, error: Any) -> Response:
    """Return the response to an address that does not exist, or to a wrong verb, in the form of other refusals."""
    wrong = error.status_code == 404
    message = f"there is no {request.url.path[:100]!r}; see /openapi.json" if wrong else error.detail
    body = {"code": "unimplemented" if wrong else "invalid_argument", "message": message}
    return JSONResponse(body, error.status_code, headers=error.headers)


def known_hosts(settings: ServerSettings) -> frozenset[str] | None:
    """Return the names of hosts, besides loopback addresses, that requests may name; None if any.

    A server that only this machine can reach answers no request for another host.
    """
    if not is_loopback(settings.host) or "*" in settings.http_origins:
        return None
    return frozenset(host_name(origin.partition("://")[2]) for origin in settings.http_origins)


class KnownHosts:
    """Refuses requests for hosts that are not known; ``names`` is the result of ``known_hosts``."""

    def __init__(self, app: Any, names: frozenset[str] | None) -> None:
        self._app, self._names = app, names

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        if scope["type"] == "http" and self._names is not None:
            host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")
            if not is_known_host(host, self._names):
                message = f"this server does not answer for the host {host[:100]!r}; name it by --http-origin"
                await JSONResponse({"code": "permission_denied", "message": message}, 403)(scope, receive, send)
                return
        await self._app(scope, receive, send)
