"""Extras: optional libraries of this package, and the command that installs them where this copy is installed."""

import json
import shlex
import sys
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import TypeVar
from urllib.parse import urlsplit
from urllib.request import url2pathname

from crossview.features.errors import CrossviewError

_NAME = "crossview"
Refusal = TypeVar("Refusal", bound=CrossviewError)


def lacking(kind: type[Refusal], what: str, extra: str) -> Refusal:
    """Return an error of a kind: its message names the missing extra, and its detail the command that installs it.

    ``what`` states what needs which library. A server does not send the command, which names folders of its machine.
    """
    return kind(f"{what}, which {_NAME}[{extra}] installs", detail=f"run: {install_command(extra)}")


@cache
def install_command(extra: str) -> str:
    """Return a line for a shell that adds an extra to this Python, from where this copy came, such as a clone."""
    try:
        requirement = _source(distribution(_NAME), extra)
    except PackageNotFoundError:  # it runs from a folder on the path
        requirement = [f"{_NAME}[{extra}]"]
    return shlex.join([sys.executable, "-m", "pip", "install", *requirement])


def _source(installed: Distribution, extra: str) -> list[str]:
    """Return the words of pip for an installed copy: installers record its origin, unless it came from an index."""
    origin = json.loads(installed.read_text("direct_url.json") or "{}")
    url = origin.get("url", "")
    if "vcs_info" in origin:
        vcs = origin["vcs_info"]
        return [f"{_NAME}[{extra}] @ {vcs['vcs']}+{url}@{vcs['commit_id']}"]
    if url.startswith("file:"):
        editable = origin.get("dir_info", {}).get("editable", False)
        return [*(["-e"] if editable else []), f"{url2pathname(urlsplit(url).path)}[{extra}]"]
    return [f"{_NAME}[{extra}]" + (f" @ {url}" if url else "")]
