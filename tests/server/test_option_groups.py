"""Options in groups: a command takes a dataclass, a terminal its fields."""

from collections.abc import Mapping
from dataclasses import InitVar, dataclass, fields
from typing import Annotated, Any, ClassVar

import typer
from typer.testing import CliRunner

from crossview.server.commands.command import Command
from crossview.server.commands.option_groups import Flag, OfRequest, expanded


@dataclass(frozen=True)
class Size:
    width: Annotated[int, typer.Option(min=1, help="Columns.")]
    height: Annotated[int, typer.Option("-h", "--height")] = 3


def test_the_fields_of_a_group_are_options() -> None:
    """They have names, checks, help and defaults, among the command's other parameters; the command gets one value."""
    got: list[object] = []

    def command(size: Size, name: Annotated[str, typer.Argument()], loud: bool = False) -> None:
        got.append((size, name, loud))

    app = typer.Typer()
    app.command()(expanded(command))
    assert CliRunner().invoke(app, ["--width", "2", "-h", "5", "it", "--loud"]).exit_code == 0
    assert CliRunner().invoke(app, ["it", "--width", "2"]).exit_code == 0
    assert got == [(Size(2, 5), "it", True), (Size(2), "it", False)]
    for wrong in (["it"], ["it", "--width", "0"], ["--width", "2"]):
        assert CliRunner().invoke(app, wrong).exit_code == 2
    assert "Columns." in CliRunner().invoke(app, ["--help"]).output


@dataclass(frozen=True)
class Drawing:
    """A request of a program."""

    canvas: tuple[int, int]
    color: str = "red"
    """Colour of the lines [default: "red", which all see]. It is a name of CSS."""
    line_width: float = 0.5
    """Width of the lines in ``color``. A thin line is hardly seen."""
    framed: bool | None = None
    """Draw a frame."""
    dots: InitVar[bool] = False
    """Draw dots."""


@dataclass(frozen=True, kw_only=True)
class DrawingOptions(OfRequest):
    REQUEST: ClassVar[Any] = Drawing
    FLAGS: ClassVar[Mapping[str, Flag | None]] = {"line_width": Flag("MM"), "title": None, "color": Flag(default="red")}
    ELSEWHERE: ClassVar[frozenset[str]] = frozenset({"canvas"})

    title: Annotated[str, typer.Option(help="Text above the drawing.")] = ""


def test_a_group_has_the_options_of_a_request() -> None:
    """With their types, defaults and the first sentence of their docstrings; differences are stated."""
    stated: list[DrawingOptions] = []

    def command(options: DrawingOptions) -> None:
        stated.append(options)

    app = typer.Typer()
    app.command(cls=Command)(expanded(command))
    for words in ([], ["--color", "blue", "--line-width", "2", "--no-framed", "--dots", "--title", "Cat"]):
        assert CliRunner().invoke(app, words).exit_code == 0
    assert stated == [
        DrawingOptions(passed={"line_width": 0.5, "color": "red", "dots": False}),
        DrawingOptions(title="Cat", passed={"line_width": 2.0, "color": "blue", "framed": False, "dots": True}),
    ]
    assert CliRunner().invoke(app, ["--line-width", "wide"]).exit_code == 2
    lines = " ".join(CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output.split())
    places = [
        lines.index(text) for text in ("Width of the lines in --color.", "Text above", "Colour of the lines", "Draw")
    ]
    assert places == sorted(places)
    assert "Colour of the lines [default: red]." in lines


def test_groups_name_fields_of_their_requests() -> None:
    """A field that is gone is in no table."""
    for group in OfRequest.__subclasses__():
        arguments = set(group.REQUEST.__dataclass_fields__) | {field.name for field in fields(group)}
        assert {*group.FLAGS, *(group.ELSEWHERE or ())} <= arguments, group
