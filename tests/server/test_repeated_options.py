"""If an option is given twice, no value is dropped silently."""

import pytest
import typer
from terminal import command_of, run

from crossview.server.commands.cli import COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_of_one_value_is_refused_when_it_is_repeated(name: str) -> None:
    """Every command refuses it before it does anything else."""
    command = command_of(name)
    options = [one for one in command.params if one.param_type_name == "option" and not one.multiple]
    assert options or name == "help"
    for option in options:
        once = [option.opts[0]] if option.is_flag else [option.opts[0], *["1"] * option.nargs]
        with pytest.raises(typer.BadParameter, match=f"^{option.opts[0]} is given 2 times, but has one value"):
            command.make_context(name, once * 2)


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (("train", "a", "--views", "b"), "--set"),
        (("tune", "a", "--views", "b"), "--try"),
        (("annotate", "a", "b"), "--attribute"),
        (("search", "a", "--view", "b", "--key", "c"), "--weight"),
        (("search", "a", "--view", "b", "--key", "c"), "--more"),
    ],
)
def test_a_key_is_given_once(command: tuple[str, ...], option: str) -> None:
    """An option of the form key=value takes each key once."""
    result = run(*command, option, "x=1", option, "x=2")
    assert result.exit_code == 2
    assert f"{option} x is given twice" in " ".join(result.stderr.split())
