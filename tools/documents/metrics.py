"""The page of the metrics that a server gives to Prometheus."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from prometheus_client.core import Metric

from crossview.server.core.observing.call_metrics import CallMetrics
from crossview.server.core.observing.server_metrics import ServerMetrics
from documents.tables import escaped, table


def metrics() -> Iterator[str]:
    """Yield the lines of the page, from the metrics of an idle server."""
    yield (
        "# Metrics\n\n`crossview serve --admin-port PORT` answers `/metrics` with these metrics in the text format of "
        "Prometheus, and `/stats` with the same values as JSON. [Watch a server](../guides/observing.md) shows how to "
        "use them. `process_resident_memory_bytes` and the like come from `prometheus_client`.\n"
    )
    rows = [
        (f"`{name}`", metric.type, ", ".join(f"`{label}`" for label in _labels(metric)), escaped(metric.documentation))
        for metric in families()
        for name in [f"{metric.name}_total" if metric.type == "counter" else metric.name]
    ]
    yield from table(("metric", "type", "labels", "meaning"), sorted(rows))


def _labels(family: Metric) -> tuple[str, ...]:
    """Return the names of the labels; prometheus_client gives them to samples only, of which there are none."""
    return tuple(vars(family).get("_labelnames", ()))


def families() -> list[Metric]:
    """Return the metrics of a server without collections, jobs and calls."""
    return [*CallMetrics().collect(), *_idle().collect()]


def _idle() -> ServerMetrics:
    """Return the collector of a server that has nothing to count."""
    nothing: Any = SimpleNamespace(
        figures=dict,
        refused=0,
        budget=SimpleNamespace(used=0, refused=0),
        silences=(),
        names=tuple,
        pictures=SimpleNamespace(figures=lambda: (0, 0, 0)),
        records=SimpleNamespace(counts=tuple),
    )
    return ServerMetrics(nothing, nothing, nothing, nothing, nothing, ports=())
