"""A messy tree of pictures as people have them: odd names, copies, broken files, links, and metadata in some files.

``python messy_tree.py FOLDER`` builds it and prints its facts.
"""

import os
import struct
import sys
import unicodedata
import zlib
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from pprint import pprint
from typing import Any, Final

import numpy as np
from PIL import Image

CAMERA_IFD, GPS_IFD = 0x8769, 0x8825
NFC: Final = "NFC"
NFD: Final = "NFD"


@dataclass
class Facts:
    """The contents of the tree. Paths are relative to its folder, with forward slashes, as items show them."""

    pictures: list[str] = field(default_factory=list)
    """The files that are items once the tree is indexed."""
    unusable: list[str] = field(default_factory=list)
    """Files with the suffix of a picture that no decoder can read."""
    copies: list[list[str]] = field(default_factory=list)
    """Groups of pictures with identical bytes."""
    links: dict[str, str] = field(default_factory=dict)
    """Links to pictures, by the link: each is the same item as its picture, and not a picture of its own."""
    clashing: list[str] = field(default_factory=list)
    """Pictures whose names differ from another one only in the Unicode form; one of the two is not an item."""
    skipped: dict[str, int] = field(default_factory=dict)
    """Numbers of files and folders that are left out, by kind, as the index command names it."""
    metadata: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The facts that some pictures state: taken, camera, lens, rating, keywords, latitude, longitude."""
    bare: list[str] = field(default_factory=list)
    """Pictures whose metadata is absent, damaged or absurd: their time and camera cannot be known."""


def build(folder: Path, seed: int = 0) -> Facts:
    """Build the tree below a folder, which it makes; the same seed makes the same bytes."""
    tree = _Tree(folder, np.random.default_rng(seed))
    _ordinary(tree)
    _names(tree)
    _copies(tree)
    _links(tree)
    _broken(tree)
    _metadata(tree)
    _damaged_metadata(tree)
    _left_out(tree)
    tree.facts.pictures.sort()
    return tree.facts


class _Tree:
    """The folder, its facts so far, and the source of chance."""

    def __init__(self, folder: Path, rng: np.random.Generator) -> None:
        self.folder, self.rng, self.facts = folder, rng, Facts()
        folder.mkdir(parents=True)

    def write(self, relative: str, data: bytes) -> Path:
        """Write a file."""
        path = self.folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def picture(self, relative: str, data: bytes | None = None) -> bytes:
        """Write a picture, drawn if no bytes are given; return its bytes."""
        data = self.drawn(Path(relative).suffix) if data is None else data
        self.write(relative, data)
        self.facts.pictures.append(relative)
        return data

    def drawn(self, suffix: str = ".jpg", **saving: Any) -> bytes:
        """Return a new picture: patches of colour with some noise, 96 x 64 pixels."""
        patches = self.rng.integers(0, 255, (4, 6, 3)).repeat(16, 0).repeat(16, 1)
        pixels = np.clip(patches + self.rng.normal(0, 8, patches.shape), 0, 255).astype(np.uint8)
        kinds = {".png": "PNG", ".webp": "WEBP", ".tif": "TIFF", ".bmp": "BMP", ".gif": "GIF"}
        kind, made = kinds.get(suffix.lower(), "JPEG"), BytesIO()
        Image.fromarray(pixels).save(made, kind, **saving)
        return made.getvalue()


def _ordinary(tree: _Tree) -> None:
    """Write nested folders and every usual format, also in capitals."""
    for number in range(6):
        tree.picture(f"2021/05 Paris/IMG_{number:04}.JPG")
        tree.picture(f"2021/06/deep/er/still/{number}.png")
    for name in ("a.jpeg", "b.jpe", "c.webp", "d.tif", "e.bmp", "f.gif", "G.PNG"):
        tree.picture(f"formats/{name}")
    tree.picture("formats/a png in truth.jpg", tree.drawn(".png"))
    tree.facts.bare += [path for path in tree.facts.pictures if path.startswith("formats/")]


def _names(tree: _Tree) -> None:
    """Write names that break scripts, both Unicode forms, and bytes that are not UTF-8."""
    for name in ("a;b", "a,b", 'say "x"', "it's", "=1+1", "-k", " space ", "two\nlines", "100% #1?", "北京", "🐈"):
        tree.picture(f"odd names/{name}.png")
    tree.picture(f"unicode/{unicodedata.normalize(NFC, 'é composed')}.png")
    tree.picture(f"unicode/{unicodedata.normalize(NFD, 'è decomposed')}.png")
    tree.picture(f"{unicodedata.normalize(NFD, 'Été')}/{unicodedata.normalize(NFC, 'Ñandú')}.png")
    first, second = (f"unicode/{unicodedata.normalize(form, 'ü twice')}.png" for form in (NFD, NFC))
    tree.picture(first)
    tree.write(second, tree.drawn(".png"))
    tree.facts.clashing += [first, second]
    with open(os.path.join(os.fsencode(tree.folder / "odd names"), b"latin \xe9.png"), "wb") as file:
        file.write(tree.drawn(".png"))
    tree.facts.pictures.append("odd names/latin \\xe9.png")


def _copies(tree: _Tree) -> None:
    """Write copies: the same bytes in other places and under other names."""
    data = tree.picture("copies/original.jpg")
    tree.picture("copies/original (1).jpg", data)
    tree.picture("backup/2020/original.jpg", data)
    tree.facts.copies.append(["copies/original.jpg", "copies/original (1).jpg", "backup/2020/original.jpg"])
    small = tree.picture("copies/small.png")
    tree.picture("backup/2020/small copy.png", small)
    tree.facts.copies.append(["copies/small.png", "backup/2020/small copy.png"])


def _links(tree: _Tree) -> None:
    """Write links: to a file, to a folder (also to one above, which would never end), and to nothing."""
    tree.picture("links/real.png")
    (tree.folder / "links/seen again.png").symlink_to("real.png")
    tree.facts.links["links/seen again.png"] = "links/real.png"
    (tree.folder / "links/folder").symlink_to(tree.folder / "formats")
    (tree.folder / "links/above").symlink_to(tree.folder)
    tree.facts.skipped["links to folders"] = 2
    (tree.folder / "links/nowhere.png").symlink_to("gone.png")
    tree.facts.unusable.append("links/nowhere.png")


def _broken(tree: _Tree) -> None:
    """Write files that end early, that are something else, or that declare more pixels than any memory holds."""
    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    declared = struct.pack(">I", len(header)) + chunk + struct.pack(">I", zlib.crc32(chunk))
    broken = {
        "empty.jpg": b"",
        "cut short.jpg": tree.drawn()[:400],
        "cut short.png": tree.drawn(".png")[:60],
        "zeros.png": bytes(5_000),
        "really a text.jpg": b"Dear diary, this is no picture.\n" * 20,
        "huge header.png": b"\x89PNG\r\n\x1a\n" + declared + struct.pack(">I", 0) + b"IDAT" + bytes(4),
    }
    for name, data in broken.items():
        tree.write(f"broken/{name}", data)
    tree.facts.unusable += [f"broken/{name}" for name in broken]


def _metadata(tree: _Tree) -> None:
    """Write pictures of two cameras and a telephone over three years, with the entries of their owners."""
    cameras = (
        ("Canon", "Canon EOS 5D", "EF50mm f/1.8", "Canon EOS 5D"),
        ("NIKON CORPORATION", "NIKON D70", None, "NIKON D70"),
        ("Apple", "iPhone 8", None, "Apple iPhone 8"),
    )
    for number in range(9):
        make, model, lens, whole = cameras[number % 3]
        taken = f"{2019 + number // 3}-{number + 1:02}-15T10:20:30"
        facts: dict[str, Any] = {"taken": taken, "camera": whole}
        exif = Image.Exif()
        exif[0x010F], exif[0x0110] = make, model
        camera = {0x9003: taken.replace("-", ":").replace("T", " ")}
        if lens:
            camera[0xA434] = facts["lens"] = lens
        if number % 2:
            exif[0x4746] = facts["rating"] = number % 5 + 1
        if number % 4 == 0:
            exif[GPS_IFD] = {1: "N", 2: (48.0, 51.0, 30.0), 3: "E", 4: (2.0, 21.0, 0.0)}
            facts |= {"latitude": 48.858333, "longitude": 2.35}
        exif[CAMERA_IFD] = camera
        name = f"cameras/{number}.jpg"
        tree.picture(name, tree.drawn(exif=exif.tobytes()))
        tree.facts.metadata[name] = facts
    _keywords(tree)


def _keywords(tree: _Tree) -> None:
    """Write pictures with keywords, by two standards, and a turned one."""
    iptc, xmp = ["beach", "Été; 2021"], ["dog", "sea & sand"]
    tree.picture("cameras/iptc.jpg", _with_iptc(tree.drawn(), iptc))
    tree.picture("cameras/xmp.jpg", tree.drawn(xmp=_xmp(xmp, rating=4)))
    tree.facts.metadata["cameras/iptc.jpg"] = {"keywords": iptc}
    tree.facts.metadata["cameras/xmp.jpg"] = {"keywords": xmp, "rating": 4}
    turned = Image.Exif()
    turned[0x0112] = 6
    tree.picture("cameras/turned.jpg", tree.drawn(exif=turned.tobytes()))
    tree.facts.metadata["cameras/turned.jpg"] = {"orientation": 6, "width": 64, "height": 96}


def _damaged_metadata(tree: _Tree) -> None:
    """Write pictures that can be read, although their metadata is damaged, absurd or hostile."""
    absurd = Image.Exif()
    absurd[0x010F], absurd[0x0110] = "\0" * 40, "x" * 40_000
    absurd[0x0112], absurd[0x4746] = 77, 65_000
    absurd[CAMERA_IFD] = {0x9003: "9999:99:99 99:99:99", 0xA434: "\x1b[31mred\x07"}
    absurd[GPS_IFD] = {1: "N", 2: (999.0, 0.0, 0.0), 3: "E", 4: (1.0, 2.0, 3.0)}
    zero = Image.Exif()
    zero[0x0132] = "0000:00:00 00:00:00"
    entities = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    bomb = entities + b'<x:xmpmeta xmlns:x="adobe:ns:meta/">&b;</x:xmpmeta>'
    damaged = {
        "absurd.jpg": tree.drawn(exif=absurd.tobytes()),
        "zero date.jpg": tree.drawn(exif=zero.tobytes()),
        "garbage.jpg": tree.drawn(exif=b"Exif\0\0" + tree.rng.bytes(3_000)),
        "cut off.jpg": tree.drawn(exif=absurd.tobytes()[:60]),
        "xml bomb.jpg": tree.drawn(xmp=bomb),
    }
    for name, data in damaged.items():
        tree.picture(f"damaged metadata/{name}", data)
        tree.facts.bare.append(f"damaged metadata/{name}")


def _left_out(tree: _Tree) -> None:
    """Write the files that the index command leaves out and counts."""
    for name in (".hidden.jpg", ".thumbs/1.jpg", "2021/.DS_Store"):
        tree.write(name, tree.drawn())
    tree.facts.skipped["hidden"] = 3
    for name in ("raw/1.nef", "raw/2.CR2", "raw/film.MOV", "raw/report.pdf", "notes.txt", "Makefile"):
        tree.write(name, b"x")
    tree.facts.skipped |= {"RAW": 2, "video": 1, "PDF": 1, "other files": 2}


def _with_iptc(jpeg: bytes, keywords: list[str]) -> bytes:
    """Return a JPEG with keywords as an IPTC record, in UTF-8."""
    record = b"\x1c\x01\x5a\x00\x03\x1b%G"
    for word in keywords:
        record += b"\x1c\x02\x19" + struct.pack(">H", len(word.encode())) + word.encode()
    record += b"\0" * (len(record) % 2)
    block = b"Photoshop 3.0\0" + b"8BIM\x04\x04\0\0" + struct.pack(">I", len(record)) + record
    return jpeg[:2] + b"\xff\xed" + struct.pack(">H", len(block) + 2) + block + jpeg[2:]


def _xmp(keywords: list[str], rating: int) -> bytes:
    """Return an XMP packet."""
    words = "".join(f"<rdf:li>{word.replace('&', '&amp;')}</rdf:li>" for word in keywords)
    return (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        '<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/" '
        f'xmp:Rating="{rating}"><dc:subject><rdf:Bag>{words}</rdf:Bag></dc:subject></rdf:Description>'
        "</rdf:RDF></x:xmpmeta>"
    ).encode()


if __name__ == "__main__":
    pprint(build(Path(sys.argv[1])))
