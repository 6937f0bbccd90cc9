"""The metrics of calls: the event loop counts each call, and a scrape reads the counts."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from crossview.server.core.dispatch.call import Call


class Histogram:
    """Counts of values in buckets; ``bounds`` are their upper limits, ascending. One thread adds values."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def buckets(self) -> tuple[list[tuple[str, float]], float]:
        """Return the cumulated counts with their upper limits, as Prometheus names them, and the sum of the values."""
        counts = accumulate(list(self._counts))
        names = [*map(str, self._bounds), "+Inf"]
        return [(name, float(count)) for name, count in zip(names, counts, strict=True)], self._sum


STAGES = ("wait", "work", "encode", "whole")
"""The stages of a call: waiting for a thread, work on the response, its encoding; and the whole call."""
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 600.0)
_SEARCHES = (1.0, 2.0, 4.0, 8.0, 16.0)


class CallMetrics:
    """Counts of all calls, as an ``Around``. It costs about four microseconds a call.

    Only the event loop writes; other threads read copies of the tables.
    """

    def __init__(self) -> None:
        self._calls: Counter[tuple[str, str]] = Counter()
        self._errors: Counter[tuple[str, str]] = Counter()
        self._received: Counter[str] = Counter()
        self._sent: Counter[str] = Counter()
        self._hits: Counter[str] = Counter()
        self._seconds: defaultdict[tuple[str, str], Histogram] = defaultdict(lambda: Histogram(_SECONDS))
        self._together = Histogram(_SEARCHES)
        self._running = 0

    def begin(self, call: Call) -> None:
        """See ``Around``."""
        self._running += 1

    def end(self, call: Call) -> None:
        """See ``Around``."""
        self._running -= 1
        name = call.method.name
        self._calls[name, call.code.name] += 1
        if call.error:
            self._errors[name, call.error] += 1
        self._received[name] += call.received
        self._sent[name] += call.sent
        if call.hits:
            self._hits[name] += call.hits
        if call.together:
            self._together.add(call.together)
        for stage, seconds in zip(STAGES, call.stages(), strict=True):
            if seconds:
                self._seconds[name, stage].add(seconds)

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics, in a thread of the port for administrators."""
        yield _counts("crossview_calls", "Ended calls, by method and status.", ("method", "code"), self._calls)
        yield _counts("crossview_errors", "Failed calls, by method and error.", ("method", "error"), self._errors)
        yield _counts("crossview_request_bytes", "Bytes of received requests.", ("method",), self._received)
        yield _counts("crossview_response_bytes", "Bytes of sent responses.", ("method",), self._sent)
        yield _counts("crossview_hits", "Hits of all searches.", ("method",), self._hits)
        yield GaugeMetricFamily("crossview_calls_in_progress", "Calls in progress.", value=self._running)
        seconds = HistogramMetricFamily(
            "crossview_call_seconds",
            "Seconds of calls, by stage: wait for a thread, work, encode the response, and the whole call.",
            labels=("method", "stage"),
        )
        for labels, histogram in sorted(self._seconds.items()):
            seconds.add_metric(labels, *histogram.buckets())
        yield seconds
        buckets, total = self._together.buckets()
        words = "Searches that one scan answered together."
        yield HistogramMetricFamily("crossview_searches_together", words, buckets=buckets, sum_value=total)


def _counts(name: str, words: str, labels: tuple[str, ...], counts: Counter[tuple[str, str]] | Counter[str]) -> Metric:
    """Return a counter with its values by labels."""
    family = CounterMetricFamily(name, words, labels=labels)
    for values, count in sorted(counts.copy().items()):
        family.add_metric(values if isinstance(values, tuple) else (values,), count)
    return family
