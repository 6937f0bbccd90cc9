"""Runs a document: all of its blocks, in order, on its stage, and then compares its outputs."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from blocks import ROOT, Block, blocks_of
from comparing import has_json, not_printed
from preparations import copy_of
from session import Session
from stages import Stage

DEMO = "crossview demo --out tour --keep"
"""The line by which several documents begin; tests run it once."""
TOUR = """
export CROSSVIEW_HOME=$PWD/tour/mine
crossview create art --views color,sift:words=150,gist,text
crossview index art tour/pictures --labels folder --captions tour/captions.csv
crossview annotate art --from attributes.csv
crossview train art --views color,sift --holdout 0.2
crossview space extend art default --views text
"""
"""The tour, as far as most guides need it, and the attributes that some of them search by."""


def play(
    document: str,
    stage: Stage,
    folder: Path,
    commands: Path,
    demo: Path,
    toured: Path,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run the document in an empty folder and return the output; raises AssertionError if it is not as stated.

    ``commands``, ``demo`` and ``toured`` are the fixtures; ``environment`` has further variables.
    """
    folder.mkdir()
    if stage.begins == "tour":
        copy_of(toured / "tour", folder / "tour")
    stage.prepare(folder)
    blocks = [block for block in blocks_of(document) if block.is_run]
    variables = {"CROSSVIEW_HOME": str(stage.home(folder)), "HOME": str(folder), "PYTHONPATH": str(ROOT)}
    replaced = {old: new.replace("{folder}", str(folder)) for old, new in stage.replaced.items()}
    with Session(
        folder, commands, variables | dict(environment or {}), replaced, stage.answers, stage.brief
    ) as session:
        for block in blocks:
            _run(block, session, demo)
        for line in stage.then:
            session.shell(line)
    _compare(blocks, session)
    for pattern in stage.prints:
        assert re.search(pattern, session.output), f"{document}: not printed: {pattern}\n{session.output}"
    return session.output


def after_demo(text: str, demo: Path) -> str:
    """Return lines that print and leave what the demo printed and left, instead of the line that runs it."""
    copied = f"cat {shlex.quote(str(demo))}/output.txt; cp -r {shlex.quote(str(demo))}/tour ."
    return "\n".join(copied if line.partition("  #")[0] == DEMO else line for line in text.split("\n"))


def _run(block: Block, session: Session, demo: Path) -> None:
    try:
        if block.file:
            (session.folder / block.file).write_text(session.here(block.text))
        elif block.language == "sh":
            session.shell(after_demo(block.text, demo), may_fail=bool(block.fails))
        elif block.language == "python":
            session.python(block.text)
    except Exception as error:
        error.add_note(f"in the block at {block.place}")
        raise


def _compare(blocks: list[Block], session: Session) -> None:
    """Compare the outputs that the document states, in order, with what was printed."""
    printed = iter([line for line in session.output.splitlines() if line.strip()])
    for block in blocks:
        text = session.here(block.text)
        if block.language == "text" and not block.file:
            missing = not_printed(text, printed)
            assert not missing, f"{block.place}: not printed, or not in this place: {missing}\n{session.output}"
        if block.language == "json" and not block.file:
            assert has_json(text, session.output), f"{block.place}: not printed: {text}\n{session.output}"
