"""The commands of ``crossview``, what they draw, and the demo; they import heavy modules late, for a quick help.

The first use of a module imports it, so that a command takes no time for the others.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crossview.server.commands import annotate as annotate
    from crossview.server.commands import ask as ask
    from crossview.server.commands import audit as audit
    from crossview.server.commands import backups as backups
    from crossview.server.commands import changes as changes
    from crossview.server.commands import collections as collections
    from crossview.server.commands import describe as describe
    from crossview.server.commands import doctor as doctor
    from crossview.server.commands import duplicates as duplicates
    from crossview.server.commands import embed as embed
    from crossview.server.commands import evaluation as evaluation
    from crossview.server.commands import explain as explain
    from crossview.server.commands import feedback as feedback
    from crossview.server.commands import index as index
    from crossview.server.commands import items as items
    from crossview.server.commands import jobs as jobs
    from crossview.server.commands import keys as keys
    from crossview.server.commands import learn as learn
    from crossview.server.commands import learners as learners
    from crossview.server.commands import maps as maps
    from crossview.server.commands import models as models
    from crossview.server.commands import neighbors as neighbors
    from crossview.server.commands import opening as opening
    from crossview.server.commands import plan as plan
    from crossview.server.commands import publish as publish
    from crossview.server.commands import search as search
    from crossview.server.commands import serve as serve
    from crossview.server.commands import spaces as spaces
    from crossview.server.commands import spreading as spreading
    from crossview.server.commands import stats as stats
    from crossview.server.commands import suggest as suggest
    from crossview.server.commands import transfer as transfer
    from crossview.server.commands import verify as verify
    from crossview.server.commands import views as views


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return import_module(f"{__name__}.{name}")
