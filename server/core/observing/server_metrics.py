"""The metrics of a server's resources, read when Prometheus asks for them."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from crossview.engine.values.errors import CrossviewError
from crossview.server.core.cache import OpenCollections
from crossview.server.core.dispatch.dispatcher import Dispatcher
from crossview.server.core.dispatch.quotas import Quotas
from crossview.server.core.dispatch.rooms import Rooms
from crossview.server.core.jobs.jobs import Jobs
from crossview.server.wire.methods import JOBS
from crossview.v1.jobs_pb2 import JobMetadata

_ESTABLISHED = "01"
"""The state of an open connection in /proc/net/tcp."""
_STATES: dict[int, str] = {
    JobMetadata.State.Value(f"STATE_{name.upper()}"): name
    for name in ("waiting", "running", "done", "failed", "cancelled")
}


@dataclass(frozen=True)
class ServerMetrics:
    """The rooms, collections, jobs and processes of a server, as a collector of Prometheus."""

    rooms: Rooms
    dispatcher: Dispatcher
    quotas: Quotas
    collections: OpenCollections
    jobs: Jobs
    ports: Sequence[int]
    """The ports whose connections count."""

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics, in a thread of the port for administrators."""
        info = GaugeMetricFamily("crossview_info", "The version of the program; always 1.", labels=("version",))
        info.add_metric((version("crossview"),), 1)
        yield info
        yield from self._rooms()
        used = self.dispatcher.budget.used
        yield GaugeMetricFamily("crossview_bytes_in_flight", "Bytes of the requests in progress.", value=used)
        words = "Calls refused for a limit of their key: the rate of its requests, or their bytes."
        refused = CounterMetricFamily("crossview_quota_refused", words, labels=("limit",))
        refused.add_metric(("rate",), self.quotas.refused)
        refused.add_metric(("bytes",), self.dispatcher.budget.refused)
        yield refused
        silent = len(self.dispatcher.silences)
        yield GaugeMetricFamily("crossview_silent_calls", "Calls whose client is silent.", value=silent)
        if (count := connections(self.ports)) is not None:
            yield GaugeMetricFamily("crossview_connections", "Open connections of clients.", value=count)
        yield from self._collections()
        with suppress(CrossviewError):  # the records of jobs cannot be read now; the other metrics can
            yield self._jobs()
        yield from self._pictures()

    def _rooms(self) -> Iterator[Metric]:
        figures = self.rooms.figures()

        def gauge(name: str, words: str) -> GaugeMetricFamily:
            family = GaugeMetricFamily(f"crossview_room_{name}", words, labels=("room",))
            for room, room_figures in figures.items():
                family.add_metric((room,), getattr(room_figures, name))
            return family

        yield gauge("waiting", "Calls that wait for a thread of the room.")
        yield gauge("busy", "Threads of the room that work.")
        yield gauge("threads", "Maximum number of threads of the room.")
        refused = CounterMetricFamily("crossview_room_refused", "Calls that a full room refused.", labels=("room",))
        for room, room_figures in figures.items():
            refused.add_metric((room,), room_figures.refused)
        yield refused

    def _collections(self) -> Iterator[Metric]:
        names = self.collections.names()
        families = {
            name: GaugeMetricFamily(f"crossview_{name}", words, labels=("collection",))
            for name, words in (
                ("items", "Items of an open collection."),
                ("index_bytes", "Bytes of the indexes of an open collection in memory."),
                ("versions", "Versions of an open collection in memory: the latest, and those still in use."),
            )
        }
        recalls = _recall_families()
        for name in names:
            with suppress(CrossviewError), self.collections.if_open(name) as collection:
                if collection is not None:
                    index_bytes, versions = collection.memory.figures()
                    families["items"].add_metric((name,), collection.count())
                    families["index_bytes"].add_metric((name,), index_bytes)
                    families["versions"].add_metric((name,), versions)
                    recalls_of = sorted(collection.memory.recalls().items())
                    latest = {(name, place.space, place.target, place.view): figures for place, figures in recalls_of}
                    for labels, (live, promised) in latest.items():
                        for family, value in zip(recalls, (live.recall, promised, live.queries), strict=True):
                            family.add_metric(labels, value)
        yield GaugeMetricFamily("crossview_open_collections", "Open collections.", value=len(names))
        yield from (*families.values(), *recalls)

    def _jobs(self) -> Metric:
        words = "Jobs of the home that are not forgotten, by lane and state."
        family = GaugeMetricFamily("crossview_jobs", words, labels=("lane", "state"))
        lanes = {kind: method.job.lane.value for kind, method in JOBS.items() if method.job is not None}
        counts = Counter({(lane, state): 0 for lane in lanes.values() for state in _STATES.values()})
        for kind, state, number in self.jobs.records.counts():
            if kind in lanes and state in _STATES:
                counts[lanes[kind], _STATES[state]] += number
        for labels, number in sorted(counts.items()):
            family.add_metric(labels, number)
        return family

    def _pictures(self) -> Iterator[Metric]:
        processes, busy, spoilt = self.collections.pictures.figures()
        yield GaugeMetricFamily("crossview_picture_processes", "Processes that read pictures.", value=processes)
        yield GaugeMetricFamily("crossview_picture_busy", "Processes that read a picture now.", value=busy)
        words = "Pictures that ended their process or took too long."
        yield CounterMetricFamily("crossview_pictures_fatal", words, value=spoilt)


def _recall_families() -> tuple[GaugeMetricFamily, ...]:
    labels = ("collection", "space", "target", "view")
    return tuple(
        GaugeMetricFamily(f"crossview_{name}", words, labels=labels)
        for name, words in (
            ("recall", "Share of the nearest items that approximate searches found, of those repeated exactly."),
            ("promised_recall", "Share of the nearest items that approximate searches promise to find."),
            ("recall_queries", "Searches that were repeated exactly, at most the last 500."),
        )
    )


def connections(ports: Sequence[int]) -> int | None:
    """Return the number of this process's open connections to its ports; None if the system does not list them."""
    own = set()
    try:
        for descriptor in os.scandir("/proc/self/fd"):
            with suppress(OSError):  # closed meanwhile
                if (target := os.readlink(descriptor.path)).startswith("socket:["):
                    own.add(target[8:-1])
        rows = [
            line.split()
            for table in ("tcp", "tcp6")
            if (path := Path("/proc/self/net") / table).exists()
            for line in path.read_text().splitlines()[1:]
        ]
    except OSError:
        return None
    hex_ports = {f"{port:04X}" for port in ports}
    return sum(row[1].rpartition(":")[2] in hex_ports and row[3] == _ESTABLISHED and row[9] in own for row in rows)
