"""The facts that a picture states are typed and bounded, in every format, and nothing that it states is an error."""

import base64
import math
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from PIL.TiffImagePlugin import IFDRational

from crossview.engine.values.item import FACTS
from crossview.features.metadata import (
    MAX_CHARACTERS,
    MAX_KEYWORDS,
    MAX_PACKET,
    POSITION,
    Metadata,
    metadata,
    with_sidecar,
)

CAMERA, GPS = 0x8769, 0x8825
FORMATS = ("JPEG", "PNG", "WEBP", "TIFF")


def saved(kind: str = "JPEG", tags: dict[int, Any] | None = None, **saving: Any) -> bytes:
    """Return a picture of 30 x 20 pixels with EXIF tags."""
    exif, made = Image.Exif(), BytesIO()
    for tag, value in (tags or {}).items():
        exif[tag] = value
    Image.new("RGB", (30, 20), "red").save(made, kind, **({"exif": exif.tobytes()} if tags else {}), **saving)
    return made.getvalue()


def facts(*given: Any, **saving: Any) -> dict[str, Any]:
    return dict(metadata(saved(*given, **saving)).facts)


@pytest.mark.parametrize("kind", FORMATS)
def test_the_facts_of_each_format(kind: str) -> None:
    """The size is that of the upright picture; names come in order; the time has the offset that the file states."""
    tags = {
        0x010F: "ACME Corp\0",
        0x0110: " acme  X100 ",
        0x0112: 6,
        0x4746: 5,
        CAMERA: {0x9003: "2021:05:03 10:11:12", 0x9011: "+02:00", 0xA434: "35mm"},
        GPS: {1: "S", 2: (10.0, 30.0, 0.0), 3: "W", 4: (0.0, 0.0, 0.0), 5: b"\x01", 6: 12.5},
    }
    found = facts(kind, tags)
    assert found == {
        "altitude": -12.5,
        "camera": "acme X100",
        "format": kind,
        "height": 30,
        "latitude": -10.5,
        "lens": "35mm",
        "longitude": 0.0,
        "make": "ACME Corp",
        "orientation": 6,
        "rating": 5,
        "taken": "2021-05-03T10:11:12+02:00",
        "width": 20,
    }
    assert list(found) == sorted(found)
    assert metadata(saved(kind, tags)).taken == 1620036672  # as if in UTC
    assert set(found) <= set(FACTS)
    assert set(POSITION) <= set(FACTS)


@pytest.mark.parametrize("kind", [*FORMATS, "GIF", "BMP", "MPO"])
def test_a_picture_without_metadata_has_a_format_and_a_size(kind: str) -> None:
    """An MPO is a JPEG with further pictures."""
    assert facts(kind) == {"format": kind.replace("MPO", "JPEG"), "width": 30, "height": 20}
    assert metadata(saved(kind)).taken is None


def test_exif_data_after_the_pixels_of_a_png_is_found() -> None:
    """ExifTool writes it there; no pixel is decoded for it."""
    data, exif = saved("PNG"), Image.Exif()
    exif[0x0110] = "Late"
    early = saved("PNG", {0x0110: "Late"})
    place = early.index(b"eXIf") - 4
    chunk = early[place : place + 12 + int.from_bytes(early[place : place + 4])]
    end = data.index(b"IEND") - 4
    assert metadata(data[:end] + chunk + data[end:]).facts["camera"] == "Late"


@pytest.mark.parametrize(
    ("make", "model", "camera"),
    [
        ("Canon", "Canon EOS 5D", "Canon EOS 5D"),
        ("NIKON CORPORATION", "NIKON D70", "NIKON D70"),
        ("Apple", "iPhone 8", "Apple iPhone 8"),
        ("Apple", "", "Apple"),
        ("", "X", "X"),
        ("", "", None),
    ],
)
def test_the_camera_names_its_maker_once(make: str, model: str, camera: str | None) -> None:
    assert facts("JPEG", {0x010F: make, 0x0110: model, 0x4746: 1}).get("camera") == camera


@pytest.mark.parametrize(
    "taken",
    [
        "0000:00:00 00:00:00",
        "9999:12:31 00:00:00",
        "1700:01:01 00:00:00",
        "2021:02:30 10:00:00",
        "yesterday",
        " ",
        "2021",
    ],
)
def test_an_absurd_date_is_left_out(taken: str) -> None:
    assert "taken" not in facts("JPEG", {CAMERA: {0x9003: taken}})
    later = facts("JPEG", {CAMERA: {0x9003: taken, 0x9004: "2020:01:02 03:04:05", 0x9012: "nonsense"}})
    assert later["taken"] == "2020-01-02T03:04:05"  # of the negative that was digitized
    assert "taken" not in facts("JPEG", {0x0132: "2020:01:02 03:04:05"})  # when a program changed it


def test_keywords_of_windows_and_of_packets_are_joined() -> None:
    """Each is there once, in their order; a packet with declarations or of another encoding is not read."""
    packet = (
        '<x xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        'xmlns:xmp="http://ns.adobe.com/xap/1.0/"><dc:subject><r:Bag><r:li>sea</r:li><r:li> a  b </r:li></r:Bag>'
        "</dc:subject><xmp:Rating>3</xmp:Rating></x>"
    )
    tags = {0x9C9E: tuple("dog; sea;\0".encode("utf-16-le"))}
    found = facts("JPEG", tags, xmp=packet.encode())
    assert (found["keywords"], found["rating"]) == (["sea", "a b", "dog"], 3)
    assert "keywords" not in facts("JPEG", xmp=b"<!DOCTYPE x>" + packet.encode())
    assert "keywords" not in facts("JPEG", xmp=packet.encode("utf-16"))
    many = packet.replace("<r:li>sea</r:li>", "".join(f"<r:li>{number}</r:li>" for number in range(500)))
    assert len(facts("JPEG", xmp=many.encode())["keywords"]) == MAX_KEYWORDS
    assert "keywords" not in facts(
        "JPEG", xmp=packet.replace("sea", "x" * (MAX_CHARACTERS + 1)).replace(" a  b ", "").encode()
    )


@pytest.mark.parametrize(
    ("tag", "value"),
    [
        (0x0110, "x" * 201),
        (0x0110, "a\x07b"),
        (0x4746, 6),
        (0x4746, 0),
        (0x0112, 9),
        (0x0112, 0),
        (0x010F, b"\xff" * 3000),
    ],
)
def test_a_fact_out_of_bounds_is_left_out(tag: int, value: Any) -> None:
    assert facts("JPEG", {tag: value, 0x8298: "x"}) == {"format": "JPEG", "width": 30, "height": 20}


@pytest.mark.parametrize(
    "gps",
    [
        {2: (10.0, 0.0, 0.0), 4: (10.0, 0.0, 0.0)},
        {1: "N", 2: (91.0, 0.0, 0.0), 3: "E", 4: (10.0, 0.0, 0.0)},
        {1: "N", 2: (10.0, 0.0, 0.0), 3: "E", 4: (180.0, 1.0, 0.0)},
        {1: "N", 2: (IFDRational(0, 0),) * 3, 3: "E", 4: (10.0, 0.0, 0.0)},
        {1: "N", 2: 10.0, 3: "E", 4: (10.0, 0.0, 0.0)},
    ],
)
def test_a_place_that_cannot_be_is_left_out(gps: dict[int, Any]) -> None:
    assert not {*POSITION} & facts("JPEG", {GPS: gps}).keys()


WHOLE = {
    kind: saved(kind, {0x010F: "A", 0x0110: "B", 0x0112: 3, CAMERA: {0x9003: "2021:05:03 10:11:12"}, GPS: {1: "N"}})
    for kind in FORMATS
}


@settings(max_examples=150)
@given(
    kind=st.sampled_from(FORMATS),
    changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=12),
    length=st.floats(0, 1),
)
def test_whatever_the_bytes_are_facts_are_typed_and_bounded(kind: str, changes: list[Any], length: float) -> None:
    """Bytes are changed, and ends cut off."""
    data = bytearray(WHOLE[kind])
    for place, value in changes:
        data[int(place * min(len(data), 400))] = value
    found = metadata(bytes(data[: math.ceil(length * len(data))] if length < 0.5 else data))
    assert isinstance(found, Metadata)
    kinds = {"altitude": float, "latitude": float, "longitude": float, "keywords": list}
    kinds |= dict.fromkeys(("width", "height", "orientation", "rating"), int)
    for name, value in found.facts.items():
        assert name in FACTS
        assert type(value) is kinds.get(name, str)
        assert len(str(value)) <= MAX_CHARACTERS * 2 + 1


@given(st.binary(max_size=200))
def test_bytes_of_anything_have_no_facts(data: bytes) -> None:
    assert metadata(data).facts == {} or metadata(data).facts["format"]


# As exiftool 12.57 and exiv2 0.27.6 write them.
EXIFTOOL = (
    "<?xpacket begin='\ufeff' id='W5M0MpCehiHzreSzNTczkc9d'?>\n<x:xmpmeta xmlns:x='adobe:ns:meta/' x:xmptk='Image::"
    "ExifTool 12.57'>\n<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>\n\n <rdf:Description rdf:about"
    "=''\n  xmlns:{0}='{1}'>\n  <{0}:{2}>{3}</{0}:{2}>\n </rdf:Description>\n</rdf:RDF>\n</x:xmpmeta>\n"
    "<?xpacket end='w'?>"
)
EXIV2 = (
    '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?> <x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="XMP Core '
    '4.4.0-Exiv2"> <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"> <rdf:Description rdf:about="" '
    'xmlns:{0}="{1}" {0}:{2}="{3}"/> </rdf:RDF> </x:xmpmeta>   <?xpacket end="w"?>'
)
EXIF, PHOTOSHOP, XAP = (
    "http://ns.adobe.com/exif/1.0/",
    "http://ns.adobe.com/photoshop/1.0/",
    "http://ns.adobe.com/xap/1.0/",
)
IPTC = base64.b64decode(  # the segment that exiftool writes for -IPTC:DateCreated and -IPTC:TimeCreated
    "/+0AQFBob3Rvc2hvcCAzLjAAOEJJTQQEAAAAAAAkHAI3AAgyMDE5MDUwNBwCPAALMTIzMDE1KzAyMDAcAgAAAgAE"
)


@pytest.mark.parametrize("program", [EXIFTOOL, EXIV2])
@pytest.mark.parametrize(
    ("fact", "written", "taken", "seconds"),
    [
        (("exif", EXIF, "DateTimeOriginal"), "2019-05-04T12:30:15+02:00", "2019-05-04T12:30:15+02:00", 1556973015),
        (("exif", EXIF, "DateTimeOriginal"), "2019-05-04T12:30:15.25", "2019-05-04T12:30:15", 1556973015),
        (("photoshop", PHOTOSHOP, "DateCreated"), "2019-05-04", "2019-05-04", 1556928000),
        (("xmp", XAP, "CreateDate"), "2019-05-04T12:30", "2019-05-04T12:30:00", 1556973000),
        (("photoshop", PHOTOSHOP, "DateCreated"), "2019-05", None, None),
        (("photoshop", PHOTOSHOP, "DateCreated"), "0000-00-00", None, None),
    ],
)
def test_a_date_in_a_packet_alone_is_when_a_picture_was_taken(program, fact, written, taken, seconds) -> None:
    """This holds for every program and format; a day stays a day."""
    packet = program.format(*fact, written).encode()
    for kind, saving in (("JPEG", {"xmp": packet}), ("WEBP", {"xmp": packet}), ("TIFF", {"tiffinfo": {700: packet}})):
        found = metadata(saved(kind, **saving))
        assert (found.facts.get("taken"), found.taken) == (taken, seconds)


def test_a_date_in_iptc_records_alone_is_when_a_picture_was_taken() -> None:
    """The record has its time and its offset; EXIF data come first."""
    picture = saved()
    assert metadata(picture[:2] + IPTC + picture[2:]).facts["taken"] == "2019-05-04T12:30:15+02:00"
    picture = saved(tags={CAMERA: {0x9003: "2021:05:03 10:11:12"}})
    assert metadata(picture[:2] + IPTC + picture[2:]).facts["taken"] == "2021-05-03T10:11:12"


def test_a_sidecar_completes_the_facts_of_a_picture() -> None:
    """Its date counts if the picture has none, its rating comes first, and hostile files are errors."""
    known = metadata(saved(tags={0x4746: 2}))
    dated = with_sidecar(known, EXIFTOOL.format("exif", EXIF, "DateTimeOriginal", "2019-05-04T12:30:15").encode())
    assert (dated.facts["taken"], dated.taken, dated.facts["rating"]) == ("2019-05-04T12:30:15", 1556973015, 2)
    rated = with_sidecar(dated, EXIV2.format("xmp", XAP, "Rating", "5").encode())
    assert (rated.facts["taken"], rated.facts["rating"]) == ("2019-05-04T12:30:15", 5)
    bomb = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><x>&b;</x>'
    for wrong in (
        b"",
        b"x",
        bomb.encode(),
        b"<a>" * 1000,
        b"<x>" + bytes(MAX_PACKET) + b"</x>",
        b"\xff\xfe<\0x\0/\0>\0",
    ):
        with pytest.raises(ValueError, match="not an XMP file"):
            with_sidecar(known, wrong)
