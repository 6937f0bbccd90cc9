"""Remedies: what a message tells its reader to do, in the words of the reader.

The engine writes remedies in Python, between backticks: an argument such as ```refit=True```, or a call such as
```collection.views.delete('sift')```. Programs in other languages read names of methods and fields instead.
"""

import ast
import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

_PYTHON = re.compile(r"`([^`]+)`")
METHODS_OF_STEPS = {
    "collection.feedback.judge": "Judge",
    "collection.index": "ImportItems",
    "collection.items": "ListItems",
    "collection.items.annotate": "UpdateItems",
    "collection.items.index_vectors": "PutVectors",
    "collection.questions.next": "NextQuestion",
    "collection.spaces.activate": "ActivateSpace",
    "collection.spaces.calibrate": "CalibrateSpace",
    "collection.spaces.delete": "DeleteSpace",
    "collection.spaces.reindex": "ReindexSpace",
    "collection.views.add": "AddView",
    "collection.views.delete": "DeleteView",
    "collection.views.fit": "FitViews",
    "home.create": "CreateCollection",
    "home.delete": "DeleteCollection",
    "home.delete_alias": "DeleteAlias",
    "home.rename": "RenameCollection",
    "home.set_alias": "SetAlias",
}
"""The method for each call in Python that a message names."""
ON_SERVER = {
    "home.backup": "crossview backup",
    "home.models.add": "crossview model add",
    "home.models.remove": "crossview model remove",
}
"""The commands of the server's machine for calls without a method."""


class Words(NamedTuple):
    """The words of one kind of reader. Each function raises KeyError for a remedy that it has no words for."""

    argument: Callable[[str], str]
    """For the name of an argument."""
    setting: Callable[[str, object], str]
    """For an argument with its value."""
    call: Callable[[str, ast.Call], str]
    """For a call, by the name of its function."""


def reworded(message: str, words: Words) -> str:
    """Return a message with its remedies in some words; text of users between backticks stays."""
    return _PYTHON.sub(lambda remedy: _translated(remedy[1], words) or remedy[0], message)


def for_programs(message: str) -> str:
    """Return a message with names of methods and fields as remedies."""
    return reworded(message, _PROGRAMS)


def with_notes_for_programs(response: Any) -> Any:
    """Return the message of a response, or a copy whose notes have names of methods and fields as remedies."""
    field = response.DESCRIPTOR.fields_by_name.get("notes")
    if field is None or field.type != field.TYPE_STRING:
        return response
    notes = [for_programs(note) for note in response.notes]
    if notes == list(response.notes):
        return response
    worded = type(response)()
    worded.CopyFrom(response)
    worded.notes[:] = notes
    return worded


def _translated(python: str, words: Words) -> str:
    try:
        match ast.parse(python).body:
            case [ast.Expr(ast.Name(name))]:
                return words.argument(name)
            case [ast.Assign([ast.Name(name)], value)]:
                return words.setting(name, ast.literal_eval(value))
            case [ast.Expr(ast.Call() as call)]:
                return words.call(ast.unparse(call.func), call)
    except (SyntaxError, ValueError, KeyError):
        pass
    return ""


def _method(step: str, _: ast.Call) -> str:
    return f"`{METHODS_OF_STEPS[step]}`" if step in METHODS_OF_STEPS else f"`{ON_SERVER[step]}` on the server"


_PROGRAMS = Words(
    argument=lambda name: f"`{name}`",
    setting=lambda name, value: f"`{name}: {json.dumps(value, ensure_ascii=False)}`",
    call=_method,
)
