"""Limits of a server's resources: file descriptors, connections, open collections and memory."""

import ctypes
import gc
import resource

MOST_DESCRIPTORS = 65_536
"""Maximum number of descriptors to request: with more, more collections would stay open than fit into memory."""
_RESERVED = 64
"""Descriptors reserved for libraries, logs, records of jobs, and pipes to other processes."""
_PER_COLLECTION = 14
"""Descriptors that an open collection needs, with four concurrent searches: two for each connection."""
_MOST_COLLECTIONS = 1_000
_ARENAS, _MAPPED_FROM = -8, -3
"""The numbers of glibc's settings M_ARENA_MAX and M_MMAP_THRESHOLD."""
_MAPPED = 1 << 16
"""Bytes from which a block of memory is mapped, so that it returns to the system as soon as it is free: those in which
gRPC receives a message have as many."""
_UNCOMPRESSED = 1
"""The bit set of enabled compression algorithms: only the identity, which does not compress."""
HEALTH_CONNECTIONS = 16
"""Maximum number of connections to the port for health checks."""
_STREAMS = 100
"""Maximum number of concurrent calls of one connection; further calls wait in the client."""
_HANDSHAKE_SECONDS, _IDLE_SECONDS, _KEEPALIVE_SECONDS = 5, 600, 60
"""Maximum time of a handshake; maximum time of a connection without calls; time of silence after which the server pings
the client, to detect lost connections."""


def channel_options(connections: int) -> tuple[tuple[str, int], ...]:
    """Return the options of gRPC that limit the resources of this number of connections.

    The server refuses compressed requests, because 65 kB can expand to 64 MB of empty entries. The limit of calls for
    each connection also limits the memory of headers; without it, two connections took 4 GB.
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
    """Raise the limit of descriptors of this process and its children, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MOST_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def descriptors() -> int:
    """Return the maximum number of descriptors of this process."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_DESCRIPTORS if soft == resource.RLIM_INFINITY else min(soft, MOST_DESCRIPTORS)


def most_connections() -> int:
    """Return the maximum number of connections, which leaves half of the descriptors to collections."""
    return max(8, (descriptors() - HEALTH_CONNECTIONS - _RESERVED) // 2)


def most_collections() -> int:
    """Return the maximum number of open collections; beyond it, the cache closes the least recently used ones."""
    rest = descriptors() - HEALTH_CONNECTIONS - _RESERVED - most_connections()
    return max(4, min(_MOST_COLLECTIONS, rest // _PER_COLLECTION))


def keep_memory_together() -> None:
    """Limit glibc to two arenas for all threads, because every arena keeps its peak memory, with small blocks alone.

    By default they keep blocks of up to 32 MB, and many large requests at once take twice the memory.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_ARENAS, 2)
        mallopt(_MAPPED_FROM, _MAPPED)


def give_memory_back(collect: bool = True) -> None:
    """Release to the system what glibc keeps; first ``collect`` Python's garbage, which stops all threads."""
    if collect:
        gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
