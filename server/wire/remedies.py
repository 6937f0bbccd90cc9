"""Remedies in the words of a reader: the method or the command that does the same as a call in Python.

Messages name calls and arguments of the Python library (``features.errors``). Programs in other languages read names
of methods and fields instead, the command line prints commands (``server.commands.hints``), and pages name pages.
"""

import json
from typing import NamedTuple

from crossview.features.errors import Argument, Remedy, worded


class Step(NamedTuple):
    """The equivalents of a call."""

    method: str
    """Empty for a call that only the machine of the server can make."""
    command: str
    option: str = ""
    """The option of the command for the first argument of the call, where it has one."""


STEPS = {
    "client.jobs.list": Step("ListOperations", "job list"),
    "collection.feedback.judge": Step("Judge", "search", "--feedback"),
    "collection.index": Step("ImportItems", "index"),
    "collection.items": Step("ListItems", "list"),
    "collection.items.annotate": Step("UpdateItems", "annotate", "--from"),
    "collection.items.index_vectors": Step("PutVectors", "index"),
    "collection.questions.next": Step("NextQuestion", "ask"),
    "collection.spaces.activate": Step("ActivateSpace", "space activate"),
    "collection.spaces.calibrate": Step("CalibrateSpace", "calibrate"),
    "collection.spaces.delete": Step("DeleteSpace", "space delete"),
    "collection.spaces.reindex": Step("ReindexSpace", "space reindex", "--space"),
    "collection.views.add": Step("AddView", "view add"),
    "collection.views.delete": Step("DeleteView", "view delete"),
    "collection.views.fit": Step("FitViews", "view fit"),
    "home.backup": Step("", "backup"),
    "home.create": Step("CreateCollection", "create"),
    "home.delete": Step("DeleteCollection", "delete"),
    "home.delete_alias": Step("DeleteAlias", "alias", "--delete"),
    "home.models.add": Step("", "model add"),
    "home.models.download": Step("", "model get"),
    "home.models.remove": Step("", "model remove"),
    "home.names": Step("ListCollections", "list"),
    "home.rename": Step("RenameCollection", "rename"),
    "home.set_alias": Step("SetAlias", "alias"),
    "keys.revoke": Step("", "key revoke"),
}
"""The calls that messages name."""


def for_programs(message: str) -> str:
    """Return a message with names of methods and fields as remedies."""
    return worded(message, _method_or_field)


def _method_or_field(remedy: Remedy) -> str:
    if isinstance(remedy, Argument):
        value = "" if remedy.value is ... else f": {json.dumps(remedy.value, ensure_ascii=False)}"
        return f"`{remedy.name}{value}`"
    step = STEPS[remedy.name]
    return f"`{step.method}`" if step.method else f"`crossview {step.command}` on the server"
