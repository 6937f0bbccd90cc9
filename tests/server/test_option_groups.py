"""Options in groups: a command takes a dataclass, a terminal its fields."""

from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from crossview.server.commands.option_groups import expanded


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
