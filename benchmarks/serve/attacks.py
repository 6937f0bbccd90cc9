"""Attacks on what a server has little of: calls, connections, memory of headers, of requests and of answers.

Each runs for so many seconds against a server of its own, which may have 2 GiB of memory and 256 descriptors, while
its health is asked for. An attack is a coroutine that goes on until it is cancelled. Large messages and bodies hold
vectors of millions of numbers, which take several times their bytes once they are decoded.
"""

import asyncio
import multiprocessing
import resource
import socket
import struct
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import numpy as np

from benchmarks.frame.tables import table
from benchmarks.serve.figures import OURS, Limit, figure
from benchmarks.serve.findings import HEALTH_WAITS, health_checks
from benchmarks.serve.halves import HEADERS, PREFACE, SETTINGS, encoded_text, frame
from benchmarks.serve.http_calls import HttpConnection
from benchmarks.serve.load import IMPORT, SEARCH, STREAM
from benchmarks.serve.process import Limits, accepts, free_port, serving, watched
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import search_pb2
from crossview.v1.types_pb2 import Vector

LIMITS = Limits(memory=2 << 30, descriptors=256)
NAME, ITEMS = "attacked", 150
_PARENT = f"collections/{NAME}"
_STREAMS, _OF_A_CONNECTION, _SILENT, _EMPTY = 3_000, 100, 1_500, 33_000_000
_DESCRIPTORS = 8_192
_SETTLED = 40.0
"""Seconds after which memory is measured: the server gives it back twice a minute."""
_PAUSE = 0.05
_PATIENCE = 30.0
"""Seconds in which a search is answered."""
_LARGE_CALLERS, _NUMBERS, _JSON_NUMBERS = 16, 3_670_000, 3_900_000
"""Callers with large requests, and the numbers of their vectors: a request of either form has about 14 MiB."""
_REQUEST_MEMORY = 256 << 20
"""Documented memory of the requests of a server."""
_GROWN = "memory grown at most, of the memory of requests"
_OPTIONS = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
_OPTIONS += [("grpc.use_local_subchannel_pool", 1)]
WITHIN = {
    "health p99, ms": Limit(most=1_000),
    "health checks failed": Limit(most=0),
    _GROWN: Limit(most=1.3),
    "memory after, % of before": Limit(most=115),
    "ends of the server": Limit(most=0),
    "searches answered afterwards": Limit(least=1),
}
ResultRows = list[dict[str, Any]]

_VALUE, _TIMES = 3_900, 3
"""Bytes of the entry, which the server's table has room for, and how often each call refers to it."""
_INDEX = 62
"""Index of the newest entry of the table."""
_AT_ONCE, _PAUSE, _ENDS_HEADERS = 50, 0.01, 4


async def idle_streams(address: str) -> None:
    """Hold thousands of streams of searches that say nothing."""

    async def hold(channel: Any) -> None:
        while True:
            call = channel.stream_stream(STREAM)()
            with suppress(grpc.RpcError, asyncio.InvalidStateError):
                await call.read()
            await asyncio.sleep(_PAUSE)

    channels = [_channel(address) for _ in range(_STREAMS // _OF_A_CONNECTION)]
    await asyncio.gather(*(hold(channel) for channel in channels for _ in range(_OF_A_CONNECTION)))


async def headers(address: str) -> None:
    """Open calls whose headers are large once unpacked, without end, through two connections."""
    await asyncio.gather(*(asyncio.to_thread(hold_headers, address, SEARCH) for _ in range(2)))


async def object_bombs(address: str) -> None:
    """Send requests of 33 million empty items, compressed and as they are."""
    bomb = pb.ImportItemsRequest(parent=_PARENT).SerializeToString() + b"\x12\x00" * _EMPTY
    sent = (bomb, grpc.Compression.Gzip), (bomb, grpc.Compression.NoCompression)

    async def send(number: int) -> None:
        async with _channel(address) as channel:
            while True:
                data, compression = sent[number % 2]
                with suppress(grpc.RpcError):
                    await channel.unary_unary(IMPORT)(data, compression=compression, timeout=30)
                await asyncio.sleep(_PAUSE)

    await asyncio.gather(*(send(number) for number in range(4)))


async def large_attributes(address: str) -> None:
    """Give 150 items attributes of 1 MB, or as much as is taken, and searches for all of them."""
    async with _channel(address) as channel:
        for number in range(ITEMS):
            for size in (1_000_000, 99_000):
                item = pb.NewItem(key=str(number), text="x" * size, rows={"v": Vector(values=[number, 0, 0])})
                item.attributes.update({"large": "x" * (size - 100)})
                request = pb.ImportItemsRequest(parent=_PARENT, items=[item])
                report = await channel.unary_unary(IMPORT)(request.SerializeToString())
                if not pb.ImportItemsResponse.FromString(report).failures:
                    break

        async def search() -> None:
            query = search_pb2.Query(view="v", vector=Vector(values=[0, 0, 0]))
            request = search_pb2.SearchRequest(parent=_PARENT, space="raw", queries=[query] * 20, k=ITEMS)
            while True:
                with suppress(grpc.RpcError):
                    await channel.unary_unary(SEARCH)(request.SerializeToString(), timeout=30)
                await asyncio.sleep(_PAUSE)

        await asyncio.gather(*(search() for _ in range(8)))


async def silent_connections(address: str) -> None:
    """Hold many connections that say nothing."""
    host, _, port = address.rpartition(":")

    async def hold() -> None:
        while True:
            with suppress(OSError):
                reader, writer = await asyncio.open_connection(host, int(port))
                await reader.read()
                writer.close()
            await asyncio.sleep(_PAUSE)

    await asyncio.gather(*(hold() for _ in range(_SILENT)))


async def large_messages(address: str) -> None:
    """Search by vectors of 14 MiB, as protobuf, from many callers."""
    query = search_pb2.Query(view="v", vector=Vector(values=[0.5] * _NUMBERS))
    request = search_pb2.SearchRequest(parent=_PARENT, space="raw", queries=[query], k=3).SerializeToString()

    async def send() -> None:
        async with _channel(address) as channel:
            while True:
                with suppress(grpc.RpcError):
                    await channel.unary_unary(SEARCH)(request, timeout=30)
                await asyncio.sleep(_PAUSE)

    await asyncio.gather(*(send() for _ in range(_LARGE_CALLERS)))


async def large_bodies(address: str) -> None:
    """Search by vectors of 3.9 million numbers, as JSON of 14 MiB over HTTP, from many callers."""
    head = f'{{"parent":"{_PARENT}","space":"raw","k":3,"queries":[{{"view":"v","vector":{{"values":['.encode()
    body = head + (b"0.5,0.5,0.5,25," * (_JSON_NUMBERS // 4))[:-1] + b"]}}]}"

    async def send() -> None:
        while True:
            # The server may refuse a body before it has arrived, and close the connection.
            with suppress(OSError, asyncio.IncompleteReadError):
                async with HttpConnection(address, SEARCH) as connection:
                    while True:
                        await connection.post(body)
                        await asyncio.sleep(_PAUSE)
            await asyncio.sleep(_PAUSE)

    await asyncio.gather(*(send() for _ in range(_LARGE_CALLERS)))


ATTACKS: dict[str, Callable[[str], Coroutine[Any, Any, None]]] = {
    attack.__name__.replace("_", " "): attack
    for attack in (
        *(idle_streams, headers, object_bombs, large_attributes, silent_connections),
        *(large_messages, large_bodies),
    )
}
_OVER_HTTP = ("large bodies",)


def measure_attacks(folder: Path, seconds: float, names: tuple[str, ...] = tuple(ATTACKS)) -> ResultRows:
    """Return the figures of each attack."""
    return [row for name in names for row in _attacked(folder / name.replace(" ", "-"), name, seconds)]


def _attacked(home: Path, name: str, seconds: float) -> ResultRows:
    port = free_port() if accepts("--health-port") else 0
    options = ["--health-port", str(port)] if port else []
    http = f"127.0.0.1:{free_port()}" if name in _OVER_HTTP else ""
    options += ["--http-port", http.rpartition(":")[2]] if http else []
    with serving(home, *options, limits=LIMITS) as server:
        _furnish(server.address)
        time.sleep(_SETTLED)  # its other processes have started then
        before, attack = server.memory(), multiprocessing.get_context("spawn").Process
        with watched(server) as memory, health_checks(f"127.0.0.1:{port}" if port else server.address) as health:
            attacker = attack(target=_attack, args=(name, http or server.address), daemon=True)
            attacker.start()
            attacker.join(seconds)
            attacker.kill()
            attacker.join()
        time.sleep(_SETTLED)
        ended = not server.alive
        after, answered = server.memory(), not ended and _answers(server.address)
    checks = np.array(health)
    values = {
        "health checks": len(checks),
        "health p99, ms": 1_000 * float(np.percentile(np.minimum(checks, HEALTH_WAITS), 99, method="higher")),
        "health checks failed": int(np.isinf(checks).sum()),
        "memory before, MB": before / 1e6,
        "most memory, MB": max(memory) / 1e6,
        _GROWN: (max(memory) - before) / _REQUEST_MEMORY,
        "memory after, MB": after / 1e6,
        "memory after, % of before": 100 * after / before,
        "ends of the server": int(ended),
        "searches answered afterwards": int(answered),
    }
    return [figure("attacks", name, OURS, metric, value) for metric, value in values.items()]


def _attack(name: str, address: str) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, _DESCRIPTORS), hard))
    asyncio.run(ATTACKS[name](address))


def _furnish(address: str) -> None:
    items = [pb.NewItem(key=str(number), rows={"v": Vector(values=[number, 0, 0])}) for number in range(ITEMS)]
    service = "/crossview.v1.CollectionService"
    request = pb.CreateCollectionRequest(collection_id=NAME, views=["v=vectors:dim=3"])
    channel: Any
    with grpc.insecure_channel(address) as channel:
        channel.unary_unary(f"{service}/CreateCollection")(request.SerializeToString())
        channel.unary_unary(IMPORT)(pb.ImportItemsRequest(parent=_PARENT, items=items).SerializeToString())
    if not _answers(address):
        raise RuntimeError("the server does not answer, although nobody attacks it")


def _answers(address: str) -> bool:
    query = search_pb2.Query(view="v", vector=Vector(values=[0, 0, 0]))
    request = search_pb2.SearchRequest(parent=_PARENT, space="raw", queries=[query], k=3)
    channel: Any
    with grpc.insecure_channel(address, options=_OPTIONS) as channel, suppress(grpc.RpcError):
        channel.unary_unary(SEARCH)(request.SerializeToString(), timeout=_PATIENCE)
        return True
    return False


def _channel(address: str) -> Any:
    return grpc.aio.insecure_channel(address, options=_OPTIONS)


def attack_table(rows: ResultRows) -> str:
    """Return the figures of the attacks as a table, those out of their limits in bold; "" for none."""
    names = list(dict.fromkeys(row["task"] for row in rows if row["part"] == "attacks"))
    metrics = list(dict.fromkeys(row["metric"] for row in rows if row["part"] == "attacks"))
    if not names:
        return ""
    lines = [["figure", *names, "limit"]]
    for metric in metrics:
        limit = WITHIN.get(metric)
        values = [row["value"] for name in names for row in rows if (row["task"], row["metric"]) == (name, metric)]
        cells = [
            f"**{value:,.4g}**" if limit is not None and value not in limit else f"{value:,.4g}" for value in values
        ]
        lines.append([metric, *cells, "" if limit is None else str(limit)])
    return table(lines)


def hold_headers(address: str, path: str) -> None:
    """Open calls that never end, as fast as the server takes them; where it cuts the connection, through another."""
    while True:
        with suppress(OSError):
            _flood(address, path)
        time.sleep(_PAUSE)


def _flood(address: str, path: str) -> None:
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=5.0) as connection:
        names = {":method": "POST", ":scheme": "http", ":path": path, ":authority": address}
        names |= {"te": "trailers", "content-type": "application/grpc"}
        call = b"".join(b"\0" + encoded_text(name) + encoded_text(value) for name, value in names.items())
        length = struct.pack("<B", 0x7F) + _rest(_VALUE - 0x7F)
        entry = b"\x40" + encoded_text("large") + length + b"x" * _VALUE
        connection.sendall(PREFACE + frame(SETTINGS) + frame(HEADERS, call + entry, _ENDS_HEADERS, 1))
        block = call + bytes([0x80 | _INDEX]) * _TIMES
        stream = 3
        while True:
            calls = range(stream, stream + 2 * _AT_ONCE, 2)
            connection.sendall(b"".join(frame(HEADERS, block, _ENDS_HEADERS, number) for number in calls))
            stream += 2 * _AT_ONCE
            connection.settimeout(_PAUSE)
            with suppress(TimeoutError):
                if not connection.recv(1 << 16):
                    return
            connection.settimeout(5.0)


def _rest(number: int) -> bytes:
    """Return the bytes of an integer of HPACK beyond its prefix."""
    encoded = b""
    while number >= 0x80:
        encoded, number = encoded + bytes([number & 0x7F | 0x80]), number >> 7
    return encoded + bytes([number])
