"""No control character of keys, labels, texts or attributes reaches a terminal; JSON keeps every character."""

import ast
import json
from pathlib import Path

import numpy as np
from checkout import Checkout
from terminal import done, run

from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem

SPELL = "\x1b]0;owned\x07\x1b[2J\x9b2J\u202e\r\x7f"
OBEYED = {*SPELL} - {*"]0;owned[2J"}


def test_no_control_character_of_an_item_reaches_a_terminal(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    with home.create("odd", ["v=vectors:dim=2"]) as made:
        spelled = {"labels": (SPELL,), "text": SPELL, "attributes": {SPELL: SPELL}, "source": SPELL}
        rows = np.eye(2, dtype=np.float32)
        made.items.put([NewItem(f"{SPELL}{number}", rows={"v": rows[number]}, **spelled) for number in range(2)])
    where = ("--home", home.path)
    key = f"{SPELL}0"
    for command in (
        ("list", "odd"),
        ("show", "odd"),
        ("item", "show", "odd", key),
        ("item", "show", "odd", f"{SPELL}none"),
        ("search", "odd", "--view", "v", "--key", key),
        ("create", SPELL),
        ("item", "delete", "odd", SPELL, "--yes"),
    ):
        result = run(*command, *where)
        assert not OBEYED & {*result.output}, (command, result.output)
    assert r"\x1b]0;owned\x07" in done("list", "odd", *where)
    raw = done("list", "odd", "--json", *where)
    assert not OBEYED & {*raw}
    assert {item["key"] for item in json.loads(raw)["result"]} == {f"{SPELL}{number}" for number in range(2)}


def test_commands_print_by_say() -> None:
    wrong = [
        f"{path}:{node.lineno}"
        for path, tree in Checkout(Path(__file__).parents[2]).trees.items()
        if str(path).startswith("server/commands/") and path.name not in ("output.py", "common.py")
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in ("echo", "secho") and ast.unparse(node.value) == "typer"
    ]
    assert wrong == []
