"""Labels: how well a space recognises them, and names that are not classes, such as those of dates and cameras."""

import csv
import io
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from crossview.engine.values.errors import Argument, Text, call

FEW_ITEMS, NOT_RECOGNIZED = "few_items", "not_recognized"
DATE, CAMERA_FOLDER, GENERIC_NAME = "date", "camera_folder", "generic_name"
FEWEST_ITEMS = 4
"""Minimum number of training items of a label: metric learners pull an item to the three nearest others of its class,
and tuning needs one in each of three folds and another to find."""
LABELLING = Text(
    "label some items with: ",
    call("collection.index", ["PATH"], call("IndexOptions", labels="folder")),
    ", or with: ",
    call("collection.items.annotate", "FILE.csv"),
)
"""How items get labels, for messages: from the names of their folders, or from a file."""
MOST_NAMED = 100
"""Maximum number of labels in a sentence, which is a part of a command line."""


@dataclass(frozen=True, kw_only=True)
class LabelReport:
    """How well a space recognises a label, and why a training should perhaps leave it out."""

    label: str
    items: int
    """Number of training items with the label."""
    tested: int = 0
    """Number of items with the label that tested the space."""
    recall: float | None = None
    """The share of these items to which the nearest training items give the label; None without a test."""
    chance: float | None = None
    """The share of tested items without the label to which the nearest training items give it: the recall by chance."""
    faults: tuple[str, ...] = ()
    """Reasons to leave the label out: "few_items", "not_recognized", "date", "camera_folder", "generic_name"."""

    def reason(self) -> str:
        """Return the faults in words; "" without one."""
        words = {
            FEW_ITEMS: f"only {self.items} training item{'s' * (self.items > 1)}",
            NOT_RECOGNIZED: f"recognised in {self.recall or 0:.0%} of its items, {self.chance or 0:.0%} by chance",
            DATE: "a date",
            CAMERA_FOLDER: "a folder of a camera",
            GENERIC_NAME: "a generic name",
        }
        return ", ".join(words[fault] for fault in self.faults if fault in words)


_CAMERA = re.compile(
    r"[1-9][0-9]{2}(?=[0-9]*[A-Z_])[0-9A-Z_]{5}"  # the folders of cameras, by the standard DCF: 100CANON, 101_PANA
    r"|20[0-9]{4}_[a-z_]"  # the folders of telephones by month: 202105_a
    r"|(?i:dcim|camera roll|dcf|(?:img|dsc|dscn|dscf|pict|mvi|pxl|gopr)[ _-]?[0-9]+)"
)
_NAMED_DATE = re.compile(r"(?:19|20)[0-9]{2}(?:(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])?)?")
"""A year, a month or a day: 2021, 202105, 20210517."""
_PART_OF_DATE = re.compile(r"[0-9]{1,2}(?:st|nd|rd|th)?|[0-9]{6}")
"""A month, a day, a number of a folder, or a time of day."""


@cache
def _words(kind: str) -> frozenset[str]:
    """Return the words of names of folders: of "dates" in seven languages, "generic" ones, or words "beside" these."""
    return frozenset(json.loads(Path(__file__).with_name("folder_words.json").read_text("utf-8"))[kind].split())


def fault_of_name(label: str) -> str:
    """Return why a label does not name a class: ``DATE``, ``CAMERA_FOLDER`` or ``GENERIC_NAME``; "" if it does.

    Cameras and programs choose such names for folders: 100CANON, 2021-05, May 2021, export web, New folder (2).
    """
    plain = unicodedata.normalize("NFKD", label).strip()
    if _CAMERA.fullmatch(plain):
        return CAMERA_FOLDER
    words = re.findall(r"[^\W_]+", "".join(char for char in plain if not unicodedata.combining(char)).lower())
    dated = [word for word in words if _NAMED_DATE.fullmatch(word)]
    rest = [word for word in words if word not in dated and not _PART_OF_DATE.fullmatch(word)]
    generic, remaining = _words("generic"), {word for word in rest if word not in _words("beside")}
    if dated and remaining <= generic | _words("dates"):
        return DATE
    if remaining and remaining <= generic:
        return GENERIC_NAME
    return ""


def advice(reports: Iterable[LabelReport]) -> str:
    """Return a sentence that names the labels with faults, and the remedy; "" if no label has one."""
    faulty = [report for report in reports if report.faults]
    if not faulty:
        return ""
    names = "; ".join(f"{report.label} ({report.reason()})" for report in faulty[:MOST_NAMED])
    faults = remedy(report.label for report in faulty)
    return Text(f"labels that are perhaps not classes: {names}; train without them: ", faults)


def without_labels(labels: Mapping[int, tuple[str, ...]], ignored: Iterable[str]) -> Mapping[int, tuple[str, ...]]:
    """Return the labels of items by id without the ignored ones; an item with only ignored labels has none."""
    gone = frozenset(ignored)
    if not gone:
        return labels
    remaining = {item: tuple(label for label in tags if label not in gone) for item, tags in labels.items()}
    return {item: tags for item, tags in remaining.items() if tags}


def remedy(labels: Iterable[str]) -> Text:
    """Return the remedy for labels that a training should not see, for a message."""
    listed = list(labels)
    more = f" and {len(listed) - MOST_NAMED} more" if len(listed) > MOST_NAMED else ""
    return Text(Argument("ignore_labels", listed[:MOST_NAMED]), more)


def listed_names(text: str) -> tuple[str, ...]:
    """Return the names of a list such as ``100CANON,2021``; a name in double quotes can contain a comma."""
    rows = csv.reader([text], skipinitialspace=True)
    return tuple(name.strip() for row in rows for name in row if name.strip())


def as_list(names: Iterable[str]) -> str:
    """Return a list from which ``listed_names`` reads the names."""
    written = io.StringIO()
    csv.writer(written, lineterminator="").writerow(names)
    return written.getvalue()
