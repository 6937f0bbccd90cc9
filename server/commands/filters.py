"""The option by which commands take conditions on attributes."""

from typing import Annotated, Any, NoReturn

import typer

AttributeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--filter-attribute",
        metavar="KEY=VALUE",
        help="Hits with this attribute. VALUE is JSON, such as 1999, true or null, and else text; "
        """the text 1999 is written KEY='"1999"'.""",
    ),
]


def attributes(pairs: list[str] | None) -> dict[str, Any]:
    """The values of these options by key."""
    values: dict[str, Any] = {}
    for pair in pairs or []:
        key, equals, text = pair.partition("=")
        if not equals:
            raise typer.BadParameter(f"--filter-attribute takes KEY=VALUE, not {pair!r}")
        if key in values:
            raise typer.BadParameter(f"--filter-attribute {key} is given twice, but an attribute has one value")
        values[key] = _value(text)
    return values


def _value(text: str) -> Any:
    from engine.ingest.json_text import json_or_text

    return json_or_text(text, _refuse)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")  # though Python reads it
