"""Requests over HTTP that are not quite requests, sent by many connections at once, and some of them slowly.

The kinds take turns: damaged heads, wrong lengths and chunks, other protocols, bad JSON, bad forms, wrong frames of
Connect and gRPC-Web, unknown encodings, and requests that are whole but damaged by a few bytes.
"""

import asyncio
import gzip
import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np

from benchmarks.serve.findings import Findings
from benchmarks.serve.load import SEARCH

PART = "http"
_FORM = "/v1/collections/hostile:search"
_AT_ONCE, _SLOW_AT_ONCE = 16, 4
_PATIENCE, _SLOWLY = 30.0, 0.02
_LONG = 100_000
_BODY = json.dumps(
    {"parent": "collections/hostile", "queries": [{"view": "v", "vector": {"values": [1, 0, 2]}}], "k": 3}
).encode()
_WRONG_JSON = (
    *(b"", b"{", b"[]", b"null", b"1e999", b'"text"', b"\xff\xfe", b'{"parent":1}', b'{"k":1e30}', b'{"k":-1}'),
    *(b'{"parent":"\\ud800"}', b'{"queries":[{"vector":{"values":[NaN]}}]}', b'{"queries":{}}', b'{"@type":"x"}'),
    *(b"[" * 10_000, b'{"a":' * 5_000, b'{"queries":[' + b"{}," * 20_000 + b"{}]}", b'{"parent":"' + b"x" * _LONG),
)
_TYPES = (
    *("application/json", "application/proto", "application/connect+json", "application/connect+proto"),
    *("application/grpc-web+proto", "application/grpc-web-text", "application/grpc", "text/html", "", "a" * 5_000),
)
_ENCODINGS = ("gzip", "br", "identity", "nothing", "gzip,gzip", "\x00")
Random = np.random.Generator


def requests(seed: int) -> Iterator[bytes]:
    """Yield malformed requests without end, of every kind in turn."""
    generator = np.random.default_rng(seed)
    for make in itertools.cycle(_KINDS):
        yield make(generator)


def _post(path: str, body: bytes, *headers: str, length: int | None = None) -> bytes:
    head = [f"POST {path} HTTP/1.1", "host: 127.0.0.1", f"content-length: {len(body) if length is None else length}"]
    return "\r\n".join([*head, *headers, "", ""]).encode("utf-8", "surrogateescape") + body


def _of(generator: Random, values: tuple[str, ...]) -> str:
    return values[int(generator.integers(len(values)))]


def _noise(generator: Random) -> bytes:
    return generator.bytes(int(generator.integers(1, 300)))


def _head(generator: Random) -> bytes:
    first = ("GET", "POST", "PRI", "", "\0", "G" * _LONG, "CONNECT", "TRACE")
    paths = ("/", SEARCH, "*", "//", "/../../etc/passwd", "/%00", "/" + "a" * _LONG, "http://[::1", "/%ff%fe?%", "")
    versions = ("HTTP/1.1", "HTTP/1.0", "HTTP/9.9", "HTTP/2.0", "", "\x01")
    line = f"{_of(generator, first)} {_of(generator, paths)} {_of(generator, versions)}\r\n".encode()
    return line + b"host: 127.0.0.1\r\n\r\n"


def _headers(generator: Random) -> bytes:
    many = [f"x-{number}: y" for number in range(int(generator.integers(1, 2_000)))]
    choices = (
        [f"x: {'a' * _LONG}"],
        many,
        ["no colon"],
        [": empty"],
        ["x:\x00"],
        ["host: a", "host: b"],
        [" folded: 1"],
    )
    return _post(SEARCH, _BODY, "content-type: application/json", *choices[int(generator.integers(len(choices)))])


def _lengths(generator: Random) -> bytes:
    wrong = ("-1", "1e9", "99999999999999999999", "0x10", "", "3, 4", "12")
    twice = f"content-length: {_of(generator, wrong)}", "content-type: application/json"
    return _post(SEARCH, _BODY, *twice, length=int(generator.integers(0, 2 * len(_BODY))))


def _chunks(generator: Random) -> bytes:
    head = f"POST {SEARCH} HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n".encode()
    sizes = (b"0", b"5", b"fffffffffffffffff", b"-1", b"zz", b"5;" + b"x" * 1_000)
    size = sizes[int(generator.integers(len(sizes)))]
    return (
        head
        + b"content-type: application/json\r\n\r\n"
        + size
        + b"\r\n"
        + _BODY[: int(generator.integers(40))]
        + b"\r\n0\r\n\r\n"
    )


def _other_protocol(generator: Random) -> bytes:
    starts = (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00", b"SSH-2.0-x\r\n", b"\x05\x01\x00")
    return starts[int(generator.integers(len(starts)))] + _noise(generator)


def _json(generator: Random) -> bytes:
    body = _WRONG_JSON[int(generator.integers(len(_WRONG_JSON)))]
    return _post(SEARCH, body, "content-type: application/json")


def _forms(generator: Random) -> bytes:
    boundary = _of(generator, ("b", "", "x" * 300, '"', "b\xe9"))
    name = _of(generator, ("image", "vector", "k", "none", "a" * 5_000, 'x"; y="'))
    file = _of(generator, ("", '; filename="../../x.jpg"', "; filename*=UTF-8''%00", '; filename="\x00"'))
    part = f'--b\r\ncontent-disposition: form-data; name="{name}"{file}\r\n\r\n'.encode() + _noise(generator)
    body = part * int(generator.integers(1, 40)) + _of(generator, ("\r\n--b--\r\n", "", "--b", "\r\n--b")).encode()
    return _post(_FORM, body, f"content-type: multipart/form-data; boundary={boundary}")


def _frames(generator: Random) -> bytes:
    flag, length = int(generator.integers(256)), int(generator.choice([0, 3, 10_000, 2**31, 2**32 - 1]))
    body = bytes([flag]) + length.to_bytes(4, "big") + _noise(generator)
    timeouts = (
        "connect-timeout-ms: 0",
        "connect-timeout-ms: -1",
        "grpc-timeout: 9999999999H",
        "grpc-timeout: x",
        "x: y",
    )
    return _post(SEARCH, body, f"content-type: {_of(generator, _TYPES)}", _of(generator, timeouts))


def _encodings(generator: Random) -> bytes:
    body = gzip.compress(bytes(10**7)) if generator.random() < 0.05 else gzip.compress(_BODY)[:-4] + _noise(generator)
    names = ("content-encoding", "connect-content-encoding", "grpc-encoding", "accept-encoding")
    encoding = f"{_of(generator, names)}: {_of(generator, _ENCODINGS)}"
    return _post(SEARCH, body, encoding, f"content-type: {_of(generator, _TYPES)}")


def _flipped(generator: Random) -> bytes:
    damaged = bytearray(_post(SEARCH, _BODY, "content-type: application/json"))
    for place in generator.integers(len(damaged), size=generator.integers(1, 6)):
        damaged[place] ^= 1 << int(generator.integers(8))
    return bytes(damaged)


_KINDS: tuple[Callable[[Random], bytes], ...] = (
    *(_head, _headers, _lengths, _chunks, _other_protocol, _json, _forms, _frames, _encodings, _flipped),
)


async def send_all(address: str, count: int, seed: int, findings: Findings) -> None:
    """Send so many requests, each over a connection of its own, and note the status of each; one of 100 is slow."""
    waiting = iter(itertools.islice(enumerate(requests(seed)), count))
    slow = asyncio.Semaphore(_SLOW_AT_ONCE)

    async def sender() -> None:
        for number, request in waiting:
            if number % 100:
                await _send(address, request, findings)
            else:
                async with slow:
                    await _send(address, request, findings, bytewise=True)

    await asyncio.gather(*(sender() for _ in range(_AT_ONCE)))


async def _send(address: str, request: bytes, findings: Findings, bytewise: bool = False) -> None:
    status, answer = "closed", b""
    try:
        async with asyncio.timeout(_PATIENCE):
            host, _, port = address.rpartition(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            try:
                with suppress(OSError):  # refused before the whole request was sent
                    await _write(writer, request, bytewise)
                with suppress(OSError):
                    answer = await reader.read(2_000)
            finally:
                writer.close()
    except TimeoutError:
        status = "DEADLINE_EXCEEDED"
    except OSError as error:
        findings.note(PART, SEARCH, request, "UNAVAILABLE", str(error))
        return
    if answer.startswith(b"HTTP/1."):
        status = f"HTTP {answer[9:12].decode()}"
    findings.note(PART, SEARCH, request, status, answer.decode(errors="replace"))


async def _write(writer: asyncio.StreamWriter, request: bytes, bytewise: bool) -> None:
    """Write a request, and that it ends; bytewise: its first bytes one by one, with pauses."""
    for place in range(min(50, len(request)) if bytewise else 0):
        if writer.is_closing():
            return
        writer.write(request[place : place + 1])
        await asyncio.sleep(_SLOWLY)
    writer.write(request[50:] if bytewise else request)
    writer.write_eof()
    await writer.drain()
