"""The output of commands: text in which control characters are visible.

Keys, labels and texts come from anyone, and a terminal obeys escape sequences wherever they are.
"""

import re

import typer

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters but for tab and newline, and those that change the direction of a text or end a line."""
_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Those of them that JSON does not write out by itself."""


def say(text: str = "", err: bool = False) -> None:
    """Print a text on stdout or stderr."""
    typer.echo(written_out(text), err=err)


def written_out(text: str) -> str:
    """Return a text with characters that a terminal would obey written as ``\\x1b``."""
    return _OBEYED.sub(lambda found: ascii(found[0])[1:-1], text)


def written_out_json(text: str) -> str:
    """Return JSON with such characters as JSON writes them, ``\\u001b``."""
    return _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
