"""Names of dates, cameras and programs, lists of labels, and labels that a training ignores."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossview.engine.values.labels import (
    CAMERA_FOLDER,
    DATE,
    FEW_ITEMS,
    GENERIC_NAME,
    NOT_RECOGNIZED,
    LabelReport,
    advice,
    as_list,
    fault_of_name,
    listed_names,
    without_labels,
)

NAMES = {
    CAMERA_FOLDER: "100CANON 101_PANA 100APPLE 999NIKON 100D3200 100_0514 102MSDCF DCIM dcim 202105_a IMG_0001",
    DATE: "2021 2021-05 20210514 202105 2021_05_14 14.05.2021 1999 20210514_123045",
    "": "cats 747 911 2CV A380 0 7 may summer web 12345678 10000000 2021-Paris 100m images_of_cats Märzenbecher",
}


@pytest.mark.parametrize(("fault", "name"), [(fault, name) for fault, names in NAMES.items() for name in names.split()])
def test_dates_and_folders_of_cameras_are_recognised(fault: str, name: str) -> None:
    """Numbers and words that are also names of classes are not."""
    assert fault_of_name(name) == fault


def test_names_of_several_words_are_recognised() -> None:
    """They are in several languages, and every word is a date's or a program's."""
    assert {fault_of_name(name) for name in ("May 2021", "2021 Sommer", "août 2019", "3rd March 2020")} == {DATE}
    generic = ("export web", "New folder (2)", "Neue Bilder", "Nouveau dossier", "untitled", "My Pictures", "Camera")
    assert {fault_of_name(name) for name in generic[:-1]} == {GENERIC_NAME}
    assert not any(map(fault_of_name, (generic[-1], "new york", "old town", "March for Science 2020", "photo booth")))


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1).filter(str.strip)))
def test_lists_of_labels_survive_the_command_line(names: list[str]) -> None:
    """Names may contain commas and quotes; spaces around them do not count."""
    names = [name.strip() for name in names]
    assert listed_names(as_list(names)) == tuple(names)


def test_labels_are_listed_as_people_write_them() -> None:
    assert listed_names('100CANON, export web ,"a, b",') == ("100CANON", "export web", "a, b")
    assert listed_names("") == ()


def test_an_item_with_only_ignored_labels_has_none() -> None:
    labels = {1: ("cat", "2021"), 2: ("2021",), 3: ()}
    assert without_labels(labels, ["2021"]) == {1: ("cat",)}
    assert without_labels(labels, []) is labels


def test_advice_names_labels_reasons_and_remedy() -> None:
    """Labels without faults are not in the advice."""
    good = LabelReport(label="cat", items=9, tested=9, recall=1.0, chance=0.0)
    bad = LabelReport(label="a, b", items=1, tested=3, recall=0.25, chance=0.5, faults=(FEW_ITEMS, NOT_RECOGNIZED))
    assert advice([good]) == ""
    assert advice([good, bad]) == (
        "labels that are perhaps not classes: a, b (only 1 training item, recognised in 25% of its items, 50% by "
        "chance); train without them: `ignore_labels=['a, b']`"
    )
