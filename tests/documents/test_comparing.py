"""The comparison of outputs finds what a document says and a run does not print."""

import pytest
from comparing import has_json, not_printed

PRINTED = """240 added, 0 updated; 8.1 s (29.8 items/s)
rank\tmatch\tkey
1\t0.906\tpictures/leaves/leaves-14.jpg\tleaves
2\t0.905\tpictures/leaves/leaves-01.jpg\tleaves
targets: color (64), sift (64)"""


@pytest.mark.parametrize(
    ("wanted", "missing"),
    [
        ("240 added, 0 updated; 3.9 s (61.2 items/s)", ""),
        (" rank   match   key\n    1   0.899   pictures/leaves/leaves-20.jpg   ...\ntargets: color (64)", ""),
        ("241 added, 0 updated; 8.1 s (29.8 items/s)", ""),
        ("300 added, 0 updated; 8.1 s (29.8 items/s)", "300 added, 0 updated; 8.1 s (29.8 items/s)"),
        ("1  0.7  pictures/leaves/leaves-14.jpg", "1  0.7  pictures/leaves/leaves-14.jpg"),
        ("1  0.906  pictures/waves/waves-14.jpg", "1  0.906  pictures/waves/waves-14.jpg"),
        ("targets: color (64)\nrank match key", "rank match key"),
    ],
    ids=["times", "columns", "near", "far", "figure", "key", "order"],
)
def test_lines_are_printed_in_order(wanted: str, missing: str) -> None:
    """The words are equal; numbers may differ by a twentieth, times and the number of a drawn picture by any amount."""
    assert not_printed(wanted, iter(PRINTED.splitlines())) == missing


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ('{"code": "not_found", "message": "no collection ...", "ms": 3.5}', True),
        ('{"code": "not_found", "message": "no collection ..."}', False),
        ('{"code": "aborted", "message": "no collection ...", "ms": 3.5}', False),
        ('{"code": "not_found", "message": "no collection ...", "ms": "3.5"}', False),
    ],
    ids=["same", "fewer keys", "another text", "another type"],
)
def test_json_has_the_same_keys_and_texts(wanted: str, found: bool) -> None:
    """Numbers may differ, and the ends of texts after dots."""
    assert has_json(wanted, 'x\n{"code": "not_found", "message": "no collection \'a\'", "ms": 4.0}\n') is found
