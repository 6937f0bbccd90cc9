"""Metadata: the facts that a picture file states about itself, in its header, EXIF data, IPTC records and XMP packet.

A file can state anything. Therefore each fact has a type and bounds, a fact outside them is left out, and no fact can
make a picture unreadable. Reading takes the header alone and decodes no pixels.
"""

import math
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from typing import Any
from xml.etree import ElementTree

from PIL import Image as Pillow
from PIL import ImageFile, IptcImagePlugin

from crossview.features.formats import formats
from crossview.features.quiet import quiet

MAX_KEYWORDS, MAX_CHARACTERS = 100, 200
"""Maximum number of keywords of a picture, and of characters of a keyword or another text."""
POSITION = ("latitude", "longitude", "altitude")
"""The facts that tell where a picture was taken, from GPS data."""
MAX_PACKET = 1 << 20
"""Maximum number of characters of an XMP packet."""
_FIRST_YEAR, _LAST_YEAR = 1826, 2099
"""Years of photographs. Cameras without a clock write 0000, and damaged files anything."""
_MAKE, _MODEL, _ORIENTATION, _CHANGED, _RATING = 0x010F, 0x0110, 0x0112, 0x0132, 0x4746
_WINDOWS_KEYWORDS = 0x9C9E
_CAMERA, _GPS = 0x8769, 0x8825
_TAKEN, _DIGITIZED, _LENS = 0x9003, 0x9004, 0xA434
_OFFSETS = {_TAKEN: 0x9011, _DIGITIZED: 0x9012}
"""The tag of the offset from UTC of each time, the better time first."""
_IPTC_KEYWORDS, _IPTC_DAY, _IPTC_TIME = (2, 25), (2, 55), (2, 60)
_SUBJECT = "{http://purl.org/dc/elements/1.1/}subject"
_ENTRY = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}li"
_XMP_RATING = "{http://ns.adobe.com/xap/1.0/}Rating"
_XMP_TAKEN = "{http://ns.adobe.com/exif/1.0/}DateTimeOriginal", "{http://ns.adobe.com/photoshop/1.0/}DateCreated"
_XMP_DIGITIZED = "{http://ns.adobe.com/exif/1.0/}DateTimeDigitized", "{http://ns.adobe.com/xap/1.0/}CreateDate"
_FARTHEST = 100_000.0
"""Maximum altitude in metres, above or below the sea."""
_PNG = b"\x89PNG\r\n\x1a\n"

_Tags = Mapping[int, Any]


@dataclass(frozen=True)
class Metadata:
    """The facts that a picture file states about itself."""

    taken: int | None = None
    """When the picture was taken, or changed by a program, in seconds since 1970 as if in UTC; None if unknown."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """JSON values by name, in the order of names: ``format``; ``width`` and ``height`` in pixels as displayed;
    ``orientation`` (EXIF, 1 to 8); ``taken`` (RFC 3339, with an offset if the file has one, or a day); ``camera``,
    ``make`` and ``lens``; ``rating`` (1 to 5); ``keywords``, a list; ``latitude`` and ``longitude`` in degrees, and
    ``altitude`` in metres. Absent if unknown."""


def metadata(data: bytes) -> Metadata:
    """Return the metadata of the bytes of a picture file; no facts for a file whose header cannot be read."""
    with quiet.entered():
        try:
            # The text and EXIF data of a PNG can come after its pixels, which Pillow would decode on the way.
            opened = Pillow.open(BytesIO(_without_pixels(data)), formats=formats())
        except Exception:  # noqa: BLE001  # for hostile headers, Pillow's readers raise exceptions of any class
            return Metadata()
        with opened:
            tags, packet = _tags(opened), _packet(opened)
            camera, gps = _inner(tags, _CAMERA), _inner(tags, _GPS)
            main = dict(tags)
            records = _iptc(opened)
            words = (*_iptc_keywords(records), *_packet_keywords(packet), *_windows_keywords(main))
            taken = _taken(camera) or _day_or_time(packet, _XMP_TAKEN) or _iptc_time(records)
            taken = taken or _day_or_time(packet, _XMP_DIGITIZED)
            raw = {
                **_size(opened, main),
                **_camera(main, camera),
                **_position(gps),
                "taken": taken,
                "rating": _rating(main.get(_RATING)) or _packet_rating(packet),
                "keywords": _distinct(words),
            }
    facts = {name: value for name, value in sorted(raw.items()) if value not in (None, "", [])}
    seconds = _seconds(_moment(camera.get(_TAKEN)) or _written(taken) or _moment(main.get(_CHANGED)))
    return Metadata(seconds, facts)


def with_sidecar(own: Metadata, data: bytes) -> Metadata:
    """Return metadata with the date, rating and keywords of the XMP file beside a picture.

    The rating is that of the XMP file, if it has one, because programs write it there later than the picture; the date
    is that of the picture, if it has one. Raises ValueError for data that is not an XMP packet, or a large one.
    """
    packet = _parsed(data)
    if packet is None:
        raise ValueError(f"it is not an XMP file of at most {MAX_PACKET:,} characters, or it declares entities")
    taken = own.facts.get("taken") or _day_or_time(packet, (*_XMP_TAKEN, *_XMP_DIGITIZED))
    words = _distinct((*own.facts.get("keywords", ()), *_packet_keywords(packet)))
    rating = _packet_rating(packet) or own.facts.get("rating")
    facts = {**own.facts, "taken": taken, "rating": rating, "keywords": words}
    seconds = _seconds(_written(taken)) if own.taken is None else own.taken
    return Metadata(seconds, {name: fact for name, fact in sorted(facts.items()) if fact not in (None, [])})


def _without_pixels(data: bytes) -> bytes:
    """Return a PNG without its chunks of pixels; other files as they are."""
    if not data.startswith(_PNG):
        return data
    chunks, place = [_PNG], len(_PNG)
    while place + 12 <= len(data):
        end = place + 12 + int.from_bytes(data[place : place + 4])
        if data[place + 4 : place + 8] != b"IDAT":
            chunks.append(data[place:end])
        place = end
    return b"".join(chunks)


def _tags(opened: Pillow.Image) -> Pillow.Exif:
    """Return the EXIF data of a picture; empty if it is damaged."""
    try:
        return Pillow.Image.getexif(opened)  # that of the class of PNGs decodes the pixels first
    except Exception:  # noqa: BLE001  # damaged EXIF data ends in any exception
        return Pillow.Exif()


def _inner(tags: Pillow.Exif, which: int) -> _Tags:
    try:
        return dict(tags.get_ifd(which))
    except Exception:  # noqa: BLE001  # see above
        return {}


def _size(opened: Pillow.Image, tags: _Tags) -> dict[str, Any]:
    orientation = tags.get(_ORIENTATION)
    orientation = orientation if isinstance(orientation, int) and 1 <= orientation <= 8 else None
    # Pillow itself turns the size of a TIFF.
    width, height = opened.size if (orientation or 1) < 5 or opened.format == "TIFF" else opened.size[::-1]
    kind = "JPEG" if opened.format == "MPO" else opened.format  # an MPO is a JPEG with further pictures
    return {"format": kind, "width": width, "height": height, "orientation": orientation}


def _camera(tags: _Tags, camera: _Tags) -> dict[str, Any]:
    """Return make, camera and lens; the camera is the model, after the make if the model does not begin with it."""
    make, model = _text(tags.get(_MAKE)), _text(tags.get(_MODEL))
    brand = make.partition(" ")[0].casefold()
    whole = model if model.casefold().startswith(brand) else f"{make} {model}"
    return {"make": make, "camera": whole if model else make, "lens": _text(camera.get(_LENS))}


def _position(gps: _Tags) -> dict[str, float]:
    """Return latitude, longitude and altitude, if latitude and longitude are known."""
    latitude, longitude = _degrees(gps.get(2), gps.get(1), "S", 90), _degrees(gps.get(4), gps.get(3), "W", 180)
    if latitude is None or longitude is None:
        return {}
    altitude, below = _number(gps.get(6)), gps.get(5) in (1, b"\x01")
    if altitude is None or not 0 <= altitude <= _FARTHEST:
        return {"latitude": latitude, "longitude": longitude}
    return {"latitude": latitude, "longitude": longitude, "altitude": round(-altitude if below else altitude, 1)}


def _degrees(values: Any, side: Any, negative: str, most: int) -> float | None:
    """Return degrees, minutes and seconds as degrees; about a decimetre exactly."""
    if not isinstance(values, tuple) or len(values) != 3 or not isinstance(side, str):
        return None
    numbers = [_number(value) for value in values]
    if any(number is None or number < 0 for number in numbers):
        return None
    whole = sum((number or 0.0) / 60**power for power, number in enumerate(numbers))
    return (round(-whole if side.strip("\0 ").upper() == negative else whole, 6)) if whole <= most else None


def _number(value: Any) -> float | None:
    """Return a rational number of EXIF data; None for one without a value, such as 0/0."""
    try:
        number = float(value)
    except (TypeError, ValueError, ArithmeticError):
        return None
    return number if math.isfinite(number) else None


def _taken(camera: _Tags) -> str | None:
    """Return when the picture was taken or digitized, as RFC 3339, with its offset from UTC if that is known."""
    for tag, offset in _OFFSETS.items():
        if (moment := _moment(camera.get(tag))) and _FIRST_YEAR <= moment.year <= _LAST_YEAR:
            return moment.isoformat() + _offset(camera.get(offset))
    return None


def _offset(value: Any) -> str:
    try:
        offset = datetime.strptime(_text(value), "%z").strftime("%z")
    except ValueError:
        return ""
    return f"{offset[:3]}:{offset[3:5]}"


def _moment(value: Any) -> datetime | None:
    try:
        return datetime.strptime(_text(value), "%Y:%m:%d %H:%M:%S")  # without a zone, as in EXIF data
    except ValueError:
        return None


def _seconds(moment: datetime | None) -> int | None:
    """Return the seconds since 1970 as if in UTC."""
    return None if moment is None else int(moment.replace(tzinfo=UTC).timestamp())


def _rating(value: Any) -> int | None:
    return value if isinstance(value, int) and 1 <= value <= 5 else None


def _text(value: Any) -> str:
    """Return a text of EXIF data on one line; "" for other values, long texts and control characters."""
    if isinstance(value, bytes):
        value = _decoded(value)
    if not isinstance(value, str) or len(value) > 10 * MAX_CHARACTERS:
        return ""
    text = " ".join(unicodedata.normalize("NFC", value.replace("\0", " ")).split())
    usable = len(text) <= MAX_CHARACTERS and not any(unicodedata.category(char) in ("Cc", "Cs") for char in text)
    return text if usable else ""


def _decoded(value: bytes) -> str:
    """Return bytes as text: UTF-8 or, if they are not, Windows-1252."""
    short = value[: 10 * MAX_CHARACTERS + 1]
    try:
        return short.decode()
    except UnicodeDecodeError:
        return short.decode("cp1252", "replace")


def _written(value: str | None) -> datetime | None:
    """Return a day or a time of ISO 8601 as the file states it; None for other text and for months."""
    try:
        return datetime.fromisoformat(value) if value and len(value) >= len("2019-05-04") else None
    except ValueError:
        return None


def _day_or_time(packet: ElementTree.Element | None, names: Iterable[str]) -> str | None:
    """Return the first of some dates of an XMP packet, as RFC 3339 or as a day."""
    for name in names:
        text = _packet_value(packet, name)
        moment = _written(text) or _moment(text)
        if moment is not None and _FIRST_YEAR <= moment.year <= _LAST_YEAR:
            is_day = len(text) == len("2019-05-04")
            return moment.date().isoformat() if is_day else moment.isoformat(timespec="seconds")
    return None


def _iptc_time(records: Mapping[tuple[int, int], Any]) -> str | None:
    """Return the day of IPTC records, with its time if they have one."""
    day, clock = _text(records.get(_IPTC_DAY)), _text(records.get(_IPTC_TIME))
    for text, form in ((day + clock, "%Y%m%d%H%M%S%z"), (day + clock, "%Y%m%d%H%M%S"), (day, "%Y%m%d")):
        try:
            moment = datetime.strptime(text, form)  # without a zone, if the file has none
        except ValueError:
            continue
        if _FIRST_YEAR <= moment.year <= _LAST_YEAR:
            return moment.isoformat() if "%H" in form else moment.date().isoformat()
    return None


def _iptc(opened: ImageFile.ImageFile) -> Mapping[tuple[int, int], Any]:
    try:
        return IptcImagePlugin.getiptcinfo(opened) or {}
    except Exception:  # noqa: BLE001  # damaged records end in any exception
        return {}


def _iptc_keywords(records: Mapping[tuple[int, int], Any]) -> Iterable[str]:
    values = records.get(_IPTC_KEYWORDS, ())
    return [_text(value) for value in (values if isinstance(values, list) else [values])[:MAX_KEYWORDS]]


def _windows_keywords(tags: _Tags) -> Iterable[str]:
    """Return the keywords that Windows writes: one text in UTF-16, separated by semicolons."""
    value = tags.get(_WINDOWS_KEYWORDS)
    packed = bytes(value) if isinstance(value, tuple) and all(isinstance(byte, int) for byte in value) else value
    if not isinstance(packed, bytes) or len(packed) > MAX_PACKET:
        return ()
    return map(_text, packed.decode("utf-16-le", "replace").split(";"))


def _packet(opened: Pillow.Image) -> ElementTree.Element | None:
    """Return the XMP packet of a picture; None for one that is damaged, large, or declares entities."""
    return _parsed(opened.info.get("xmp") or opened.info.get("XML:com.adobe.xmp"))


def _parsed(data: Any) -> ElementTree.Element | None:
    try:
        text = data.decode() if isinstance(data, bytes) else data
        if not isinstance(text, str) or len(text) > MAX_PACKET or "<!" in text:
            return None
        return ElementTree.fromstring(text.strip("\ufeff\0 \r\n"))  # noqa: S314  # without declarations no entity can grow
    except (ValueError, ElementTree.ParseError):
        return None


def _packet_keywords(packet: ElementTree.Element | None) -> Iterable[str]:
    subjects = () if packet is None else packet.iter(_SUBJECT)
    return [_text(entry.text) for subject in subjects for entry in subject.iter(_ENTRY)]


def _packet_rating(packet: ElementTree.Element | None) -> int | None:
    rating = _packet_value(packet, _XMP_RATING)
    return _rating(int(rating)) if rating.isascii() and rating.isdecimal() and len(rating) == 1 else None


def _packet_value(packet: ElementTree.Element | None, name: str) -> str:
    """Return a value of an XMP packet, which is an attribute or an element; "" without one."""
    parts = () if packet is None else packet.iter()
    values = (part.get(name) or (part.text if part.tag == name else None) for part in parts)
    return _text(next(filter(None, values), ""))


def _distinct(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(filter(None, words)))[:MAX_KEYWORDS]
