"""What a server may take of the machine: its descriptors, and how they are shared."""

import ctypes
import gc
import resource

MOST_DESCRIPTORS = 65_536
"""That a server asks for; more would keep more collections open than fit into memory."""
_RESERVED = 64
"""Descriptors for everything else: libraries, logs, records of jobs, and pipes to other processes."""
_OF_A_COLLECTION = 12
"""Descriptors that an open collection takes, with several searches at once."""
_MOST_COLLECTIONS = 1_000
_ARENAS = -8
"""The setting of glibc: M_ARENA_MAX."""
_UNCOMPRESSED = 1
"""The algorithms of gRPC that are enabled, as bits: none."""
HEALTH_CONNECTIONS = 16
"""Connections of the port for health alone."""
_STREAMS = 100
"""Calls of one connection at once; those that a client begins besides wait in the client."""
_HANDSHAKE_SECONDS, _IDLE_SECONDS, _KEEPALIVE_SECONDS = 5, 600, 60
"""How long a connection may take to begin, and be without a call; after how long a client that says nothing is asked
whether it is still there."""


def channel_options(connections: int) -> tuple[tuple[str, int], ...]:
    """Return the options of gRPC that bound the resources of so many connections.

    Compressed requests are refused: 65 kB of them may be 64 MB of empty entries. The memory of a call's headers is
    bounded by the calls of a connection; without a bound, two connections took 4 GB.
    """
    return (
        ("grpc.max_allowed_incoming_connections", connections),
        ("grpc.max_concurrent_streams", _STREAMS),
        ("grpc.server_handshake_timeout_ms", 1000 * _HANDSHAKE_SECONDS),
        ("grpc.max_connection_idle_ms", 1000 * _IDLE_SECONDS),
        ("grpc.keepalive_time_ms", 1000 * _KEEPALIVE_SECONDS),
        ("grpc.compression_enabled_algorithms_bitset", _UNCOMPRESSED),
    )


def raise_descriptors() -> None:
    """Let this process, and those that it starts, open as many files and connections as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MOST_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def descriptors() -> int:
    """Return how many descriptors this process may have."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_DESCRIPTORS if soft == resource.RLIM_INFINITY else min(soft, MOST_DESCRIPTORS)


def most_connections() -> int:
    """Return how many connections may be open at once, so that collections can still be opened."""
    return max(8, (descriptors() - HEALTH_CONNECTIONS - _RESERVED) // 2)


def most_collections() -> int:
    """Return how many collections may be open at once; the cache closes the least recently used of more."""
    rest = descriptors() - HEALTH_CONNECTIONS - _RESERVED - most_connections()
    return max(4, min(_MOST_COLLECTIONS, rest // _OF_A_COLLECTION))


def keep_memory_together() -> None:
    """Limit glibc to two arenas for all threads: each further one keeps the memory that it once had."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_ARENAS, 2)


def give_memory_back() -> None:
    """Return free memory to the system: garbage that Python finds, and memory that glibc keeps."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
