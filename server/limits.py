"""What a server may take of the machine: its descriptors, and how they are shared."""

import resource

MOST_DESCRIPTORS = 65_536
"""That a server asks for; more would keep more collections open than fit into memory."""
_RESERVED = 64
"""Descriptors for everything else: libraries, logs, records of jobs, and pipes to other processes."""
_OF_A_COLLECTION = 12
"""Descriptors that an open collection takes, with several searches at once."""
_MOST_COLLECTIONS = 1_000


def raise_descriptors() -> None:
    """Lets this process, and those that it starts, open as many files and connections as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MOST_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def descriptors() -> int:
    """Returns how many descriptors this process may have."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_DESCRIPTORS if soft == resource.RLIM_INFINITY else min(soft, MOST_DESCRIPTORS)


def most_connections() -> int:
    """Returns how many connections may be open at once, so that collections can still be opened."""
    return max(8, (descriptors() - _RESERVED) // 2)


def most_collections() -> int:
    """Returns how many collections may be open at once; of more, those that were used least recently are closed."""
    rest = descriptors() - _RESERVED - most_connections()
    return max(4, min(_MOST_COLLECTIONS, rest // _OF_A_COLLECTION))
