"""Attacks on a server: damaged pictures and bombs, malformed messages, slow and vanishing clients, half streams.

``python -m benchmarks hostile [--json OUT] [--report DIR] [--pictures 10000] [--messages 100000] [--megabytes 2000]
[--requests 100000]``

``--parts attacks [--seconds 120]``: what exhausts a server, against one of 2 GiB and 256 descriptors (``attacks.py``).

Every RPC is found by the descriptors. No call may end with UNKNOWN or INTERNAL, the server must not end, its processes
must stay below 2 GB together, and its health must be answered all the time. Each failure is listed with the shortest
input that had it, in base64.
"""

import argparse
import asyncio
import itertools
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from rich.console import Console

from benchmarks.frame.benchmark import Benchmark, Document, positive
from benchmarks.frame.headlines import stated
from benchmarks.frame.tables import rows_with, table
from benchmarks.serve.attacks import ATTACKS, attack_table, measure_attacks
from benchmarks.serve.drawn import picture
from benchmarks.serve.figures import Limit, judged
from benchmarks.serve.halves import half_messages
from benchmarks.serve.load import IMPORT, SEARCH, STREAM, TRAIN
from benchmarks.serve.malformed import in_turn, methods, requests
from benchmarks.serve.malformed_http import send_all
from benchmarks.serve.mutations import large_pictures, mutated
from benchmarks.serve.vanishing import half_streams, unread, vanish
from benchmarks.serve.victim import NAME, Victim
from crossview.v1 import collections_pb2, search_pb2

SENT = ("pictures", "messages", "clients", "streams", "http")
PARTS = (*SENT, "attacks")
LIMITS = {
    "calls that failed by the server": Limit(most=0),
    "calls without an answer in 30 s": Limit(most=0),
    "ends of the server": Limit(most=0),
    "most memory, MB": Limit(most=2_000),
    "health checks failed": Limit(most=0),
}
_FURNISHED, _CALLS_OF_A_CLIENT = 200, 4
_MESSAGE = 8 * 2**20
_COLLECTION = f"collections/{NAME}"


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, figures, and the faults with their inputs."""
    parts: dict[str, Callable[[Victim], None]] = {
        "pictures": partial(send_pictures, count=options.pictures, seed=options.seed),
        "messages": partial(send_messages, count=options.messages, number=options.seed),
        "clients": partial(vanish_often, count=options.clients, number=options.seed),
        "streams": partial(send_halves, megabytes=options.megabytes),
        "http": partial(send_http, count=options.requests, number=options.seed),
    }
    rows: list[dict[str, Any]] = []
    faults: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="crossview-hostile-") as folder:
        if sent := [name for name in options.parts if name in SENT]:
            victim = Victim(Path(folder))
            with victim:
                for name in sent:
                    Console(stderr=True).print(f"{name} ...", highlight=False)
                    parts[name](victim)
            rows += victim.figures()
            faults += [fault.as_json() for fault in victim.findings.faults.values()]
        if "attacks" in options.parts:
            Console(stderr=True).print("attacks ...", highlight=False)
            rows += measure_attacks(Path(folder), options.seconds, tuple(options.attacks))
    names = ("pictures", "messages", "clients", "megabytes", "requests", "seed", "parts", "seconds", "attacks")
    return {"settings": {name: getattr(options, name) for name in names}, "rows": rows, "faults": faults}


def send_pictures(victim: Victim, count: int, seed: int, bombs: bool = True) -> None:
    """Send damaged pictures as queries and as imports in turn, and first, with ``bombs``, every bomb as both."""
    large = list(large_pictures().values()) if bombs else []
    every = itertools.chain(large, itertools.islice(mutated(seed), count))
    for number, image in enumerate(every):
        query = search_pb2.SearchRequest(
            parent=_COLLECTION, queries=[search_pb2.Query(view="color", image=image)], space="raw"
        )
        item = collections_pb2.ImportItemsRequest(
            parent=_COLLECTION, items=[collections_pb2.NewItem(key=f"bad/{number % 50}", image=image)]
        )
        calls = [(SEARCH, query), (IMPORT, item)]
        for path, request in calls if number < len(large) else [calls[number % 2]]:
            victim.send("pictures", path, None, request.SerializeToString())


def send_messages(victim: Victim, count: int, number: int) -> None:
    """Send malformed messages over every RPC; the collection is made again now and then."""
    for path, method, share in in_turn(count):
        sent = itertools.count(1)

        def send(request: bytes, *, to: tuple[str, Any] = (path, method), sent: Iterator[int] = sent) -> None:
            victim.send("messages", *to, request)
            if next(sent) % _FURNISHED == 0:
                victim.furnish()

        each_of(requests(method), share, number, send)
        victim.furnish()


def each_of(strategy: Any, count: int, number: int, use: Callable[[bytes], None]) -> None:
    """Call ``use`` with so many values that Hypothesis draws; it draws fewer where there are no more."""

    def drawn(value: bytes) -> None:
        use(value)

    how = settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    start: Any = given(strategy)
    run: Any = seed(number)(how(start(drawn)))
    run()


def vanish_often(victim: Victim, count: int, number: int) -> None:
    """Begin calls that are given up, and streams that are not read."""
    search = partial(search_pb2.SearchRequest, parent=_COLLECTION)
    queries = search_pb2.Query(view="v", key="0"), search_pb2.Query(view="color", image=picture(3))
    searches = [search(queries=[query] * 50, space="raw") for query in queries]
    image = collections_pb2.NewItem(key="vanished", image=picture(2))
    sent = {
        SEARCH: [request.SerializeToString() for request in searches],
        IMPORT: [collections_pb2.ImportItemsRequest(parent=_COLLECTION, items=[image] * 20).SerializeToString()],
        TRAIN: [
            collections_pb2.TrainRequest(
                parent=_COLLECTION, learner="lmnn", views=["v"], space_id="gone", activate=False
            ).SerializeToString()
        ],
    }
    asyncio.run(vanish(victim.address, sent, count, number, victim.findings))
    if STREAM in methods():
        asyncio.run(unread(victim.address, STREAM, sent[SEARCH][0], count * _CALLS_OF_A_CLIENT, victim.findings))
    victim.revive("clients", SEARCH, b"")


def send_halves(victim: Victim, megabytes: int) -> None:
    """Send the first halves of streams, and of messages, which take so much in all."""
    pictures = [collections_pb2.Picture(image=bytes(2**20))] * (_MESSAGE // 2**20)
    fit = collections_pb2.FitViewsRequest(parent=_COLLECTION, views=["color"], pictures=pictures).SerializeToString()
    search = search_pb2.SearchRequest(
        parent=_COLLECTION, queries=[search_pb2.Query(view="color", image=bytes(_MESSAGE))]
    ).SerializeToString()
    streams = {path: method for path, method in methods().items() if method.client_streaming}
    for path, method in streams.items():
        message = search if "Search" in path else fit
        share = megabytes // 2 // len(streams)
        asyncio.run(half_streams(victim.address, method, message, share, victim.findings))
        victim.revive("streams", path, message)
    half_messages(victim.address, SEARCH, megabytes // 2)
    victim.revive("streams", SEARCH, b"")


def send_http(victim: Victim, count: int, number: int) -> None:
    """Send malformed requests over HTTP."""
    asyncio.run(send_all(victim.http, count, number, victim.findings))
    victim.revive("http", SEARCH, b"")


def markdown(document: Document) -> str:
    """Return the report."""
    counts = [[row["part"], row["metric"], f"{row['value']:,}"] for row in rows_with(document["rows"], task="calls")]
    faults = [
        [
            fault["part"],
            fault["method"].rpartition("/")[2],
            fault["status"],
            _cell(fault["message"]),
            f"`{fault['request'][:80]}`",
        ]
        for fault in document["faults"]
    ]
    figures = judged(rows_with(document["rows"], task="all"), LIMITS)
    tables = [figures, table([["part", "status", "calls"], *counts])] if counts else []
    if attacked := attack_table(document["rows"]):
        tables.append(attacked)
    if faults:
        tables.append(table([["part", "method", "status", "message", "shortest input, base64"], *faults]))
    return "\n\n".join(["# A hostile run" if counts else "# Attacks that exhaust a server", *tables])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")[:160]


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pictures", type=positive, default=10_000, help="damaged pictures")
    parser.add_argument("--messages", type=positive, default=100_000, help="malformed messages over all RPCs")
    parser.add_argument("--requests", type=positive, default=100_000, help="malformed requests over HTTP")
    parser.add_argument("--clients", type=positive, default=2_000, help="clients that vanish")
    parser.add_argument("--megabytes", type=positive, default=2_000, help="of streams and messages sent by half")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(SENT), metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--seconds", type=float, default=120.0, help="of each attack")
    parser.add_argument("--attacks", nargs="*", choices=ATTACKS, default=list(ATTACKS), metavar="ATTACK")
    parser.add_argument("--seed", type=int, default=0)


BENCHMARK = Benchmark(
    "hostile",
    __doc__,
    _arguments,
    measure,
    markdown,
    headline=stated(
        "Attack the server with damaged pictures, messages and clients: calls that fail by its fault",
        "{0:.0f}",
        "",
        {"metric": "calls that failed by the server"},
    ),
)
