"""Pages of the server."""

from benchmarks.frame.charts import Plot
from benchmarks.pages.page import Group, Page
from benchmarks.pages.report import Excerpt

_SERVERS = {
    "crossview": "crossview",
    "crossview, streams": "crossview, streams",
    "reference": "minimal server",
    "echo": "echo",
}
_MIXED = {
    f"{call}: p99, ms": call
    for call in (
        "searches",
        "searches of codes",
        "searches by JSON",
        "pictures",
        "writes",
        "deletions",
        "health checks",
    )
}
_CLICKS = {
    "a click, ms": "a click",
    "a click, 95 %, ms": "a click, 95th percentile",
    "a chosen picture, ms": "a chosen picture",
    "the grid opened, ms": "opening the grid",
}

SERVER = Group(
    "Server",
    (
        Page(
            name="server-speed",
            title="Calls a second over gRPC and HTTP",
            question="How many calls a second does a server answer on two cores, and how long do they take?",
            results=("serve-speed", "serve-speed-ports"),
            plots=(
                Plot(
                    name="server-speed",
                    alt="Calls a second by callers at once, queries by vector: crossview comes near a minimal server "
                    "in Python the more callers there are, and reaches it in streams.",
                    result="serve-speed",
                    where={"part": "speed", "task": "vector", "metric": "calls/s"},
                    x="clients",
                    keep=_SERVERS,
                    titles=("callers at once", "calls a second"),
                    log="xy",
                ),
            ),
            note="The reference is the least that a server in Python does for the same request: it searches raw FAISS. "
            "The echo answers with what it gets. Clients share the two cores with the server.",
            excerpts=(
                Excerpt(
                    "serve-speed",
                    "",
                    r"^vector \| (crossview|ref|echo).*\| (32|1) \|",
                    ("method", "at once", "calls/s", "p50, ms", "p99"),
                ),
                Excerpt("serve-speed", "", r"\*\*", ("query by", "at once", "figure", "value", "limit")),
                Excerpt("serve-speed", "Ten.*", "searches", ("load", "begun, times the capacity", "accepted, %")),
            ),
        ),
        Page(
            name="server-robustness",
            title="Hostile clients, mixed load, a stop and a kill",
            question="Does a server survive hostile clients, and does it keep every write that it acknowledged?",
            results=("soak", "hostile", "hostile-attacks"),
            plots=(
                Plot(
                    name="server-robustness",
                    alt="99th percentile of the time of calls under six minutes of mixed load: searches and writes are "
                    "quick, and searches by picture take longest.",
                    result="soak",
                    where={},
                    series="metric",
                    keep=_MIXED,
                    titles=("ms, 99th percentile", ""),
                ),
            ),
            note="The first section writes, searches, trains and deletes at once, then stops the server and kills it. "
            "The second one sends damaged pictures, damaged messages and a hundred thousand odd HTTP requests. "
            "The third one attacks servers of 2 GiB and 256 descriptors for a minute each. Large messages and bodies "
            "are searches of 14 MiB from 16 callers, as protobuf over gRPC and as JSON over HTTP.",
            excerpts=(
                Excerpt("soak", "", "lost|answer|memory|longest"),
                Excerpt("hostile", "", "", ("figure", "value", "limit")),
                Excerpt(
                    "hostile-attacks",
                    "",
                    "failed|p99|memory grown|ends",
                    ("figure", "idle streams", "headers", "large messages", "large bodies", "limit"),
                ),
            ),
        ),
        Page(
            name="web-page",
            title="The web page of a collection",
            question="How fast is the page that shows a collection of 100,000 items?",
            results=("page-speed",),
            plots=(
                Plot(
                    name="web-page",
                    alt="Milliseconds of a click, a chosen picture and the opened grid: all take less than a second, "
                    "and a click about a quarter.",
                    result="page-speed",
                    where={},
                    series="metric",
                    keep=_CLICKS,
                    titles=("ms", ""),
                ),
            ),
            note="A browser opens the page of a server on the same two cores.",
            excerpts=(Excerpt("page-speed", ""),),
        ),
    ),
)
