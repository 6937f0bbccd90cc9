"""Threads in the background, and what the system can refuse: threads, processes and descriptors."""

import errno
import logging
import threading
from collections.abc import Callable
from typing import Any

NO_MORE = "the system allows no more processes or threads: raise the limit (ulimit -u), or end other programs"
_NO_FILES = "the system allows no more open files: raise the limit (ulimit -n), or end other programs"
_REFUSALS = {errno.EMFILE: _NO_FILES, errno.ENFILE: _NO_FILES, errno.EAGAIN: NO_MORE}
_log = logging.getLogger("crossview")


def begun(work: Callable[..., object], name: str, *arguments: Any) -> threading.Thread | None:
    """Start a thread that does not keep the program alive; return it, or None, with a warning in the log.

    A thread that was made and not started must not stay anywhere: others would wait for it for ever.
    """
    thread = threading.Thread(target=work, name=name, args=arguments, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        _log.warning("no thread for %s: %s", name, NO_MORE)
        return None
    return thread


def refused(error: BaseException | None) -> str:
    """Return what the system refuses, by an error or its causes, in one sentence; "" for any other error."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _REFUSALS:
            return _REFUSALS[error.errno]
        if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
            return NO_MORE
        error = error.__cause__
    return ""
