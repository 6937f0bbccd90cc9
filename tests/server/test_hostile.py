"""A real server survives damaged pictures, malformed messages, and clients that vanish."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from seeds import seed_of

from benchmarks.serve.findings import ENDED, FAULTS, LATE
from benchmarks.serve.hostile import send_halves, send_messages, send_pictures, vanish_often
from benchmarks.serve.malformed import methods
from benchmarks.serve.victim import Victim

MOST_BYTES = 2_000_000_000


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Victim]:
    """A server; at its end it had failed no call by itself, and had always answered for its health."""
    with Victim(tmp_path) as server:
        yield server
    assert server.findings.total(*FAULTS, LATE, ENDED) == 0, server.findings.faults
    assert server.health
    assert max(server.health) < float("inf")
    assert max(server.memory) < MOST_BYTES


@pytest.mark.random
@pytest.mark.long
def test_malformed_messages_are_refused(victim: Victim) -> None:
    """Every RPC gets messages with any fields, and bytes that are not messages."""
    send_messages(victim, 4 * len(methods()), seed_of(0))
    assert sum(victim.findings.statuses["messages"].values()) > 2 * len(methods())


@pytest.mark.random
def test_damaged_pictures_are_refused(victim: Victim) -> None:
    """They are queries and imports, in every format."""
    send_pictures(victim, 40, seed_of(0), bombs=False)
    assert victim.findings.total(*FAULTS, LATE, ENDED) == 0, victim.findings.faults


@pytest.mark.random
@pytest.mark.long
def test_bombs_are_refused_within_the_memory(victim: Victim) -> None:
    """Small files that declare large pictures."""
    send_pictures(victim, 150, seed_of(1))
    assert victim.findings.total(*FAULTS, LATE, ENDED) == 0, victim.findings.faults


@pytest.mark.random
@pytest.mark.long
def test_many_malformed_messages_are_refused(victim: Victim) -> None:
    """They are six hundred over all RPCs; ``python -m benchmarks hostile`` sends a hundred thousand."""
    send_messages(victim, 600, seed_of(2))
    assert victim.findings.total(*FAULTS, LATE, ENDED) == 0, victim.findings.faults


@pytest.mark.random
@pytest.mark.long
def test_clients_may_vanish_and_streams_may_stop(victim: Victim) -> None:
    """During calls, before they read the answers, and in the middle of messages, 300 megabytes of them."""
    vanish_often(victim, 100, seed_of(3))
    send_halves(victim, 300)
    assert victim.findings.total(*FAULTS, LATE, ENDED) == 0, victim.findings.faults
