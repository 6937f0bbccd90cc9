"""The designs of drawn pages: which block stands where. Written down before anything was tuned on them."""

from collections.abc import Mapping
from dataclasses import dataclass

IMPORTANT = ("story", "headlines")
"""Kinds of blocks whose changes are important: they show news. All others are not."""
STILL = ("masthead", "menu", "article", "footer")
"""Kinds that never change."""


@dataclass(frozen=True)
class Block:
    """A rectangle of a page, in per cent of its width and height."""

    kind: str
    """story: the newest major news, with a picture. headlines: the newest news. advert: another at every visit.
    rotation: four adverts in turn, hour by hour. gallery: one of five pictures
    that turn by the second. clock: the hour and the weather. ranking: what is read
    most, in an order of its own every hour. masthead, menu, article, footer: never change."""
    left: float
    top: float
    width: float
    height: float


def _blocks(*blocks: tuple[str, float, float, float, float]) -> tuple[Block, ...]:
    return tuple(Block(*block) for block in blocks)


DESIGNS: Mapping[str, tuple[Block, ...]] = {
    "newspaper": _blocks(
        ("masthead", 0, 0, 70, 10),
        ("clock", 70, 0, 30, 10),
        ("menu", 0, 10, 100, 5),
        ("story", 0, 15, 60, 45),
        ("headlines", 60, 15, 40, 45),
        ("advert", 0, 60, 30, 25),
        ("ranking", 30, 60, 40, 25),
        ("rotation", 70, 60, 30, 25),
        ("article", 0, 85, 100, 10),
        ("footer", 0, 95, 100, 5),
    ),
    "portal": _blocks(
        ("advert", 0, 0, 100, 12),
        ("masthead", 0, 12, 100, 8),
        ("menu", 0, 20, 20, 80),
        ("headlines", 20, 20, 50, 60),
        ("story", 20, 80, 50, 20),
        ("clock", 70, 20, 30, 10),
        ("rotation", 70, 30, 30, 40),
        ("ranking", 70, 70, 30, 30),
    ),
    "university": _blocks(
        ("masthead", 0, 0, 100, 12),
        ("gallery", 0, 12, 100, 38),
        ("menu", 0, 50, 25, 50),
        ("headlines", 25, 50, 40, 40),
        ("article", 65, 50, 35, 40),
        ("footer", 25, 90, 75, 10),
    ),
    "music": _blocks(
        ("menu", 0, 0, 100, 8),
        ("masthead", 0, 8, 50, 12),
        ("advert", 50, 8, 50, 12),
        ("gallery", 0, 20, 40, 40),
        ("story", 40, 20, 60, 60),
        ("ranking", 0, 60, 40, 40),
        ("footer", 40, 80, 60, 20),
    ),
    "broadcaster": _blocks(
        ("menu", 0, 0, 100, 6),
        ("masthead", 0, 6, 75, 9),
        ("clock", 75, 6, 25, 9),
        ("story", 25, 15, 45, 50),
        ("headlines", 0, 15, 25, 70),
        ("advert", 70, 15, 30, 35),
        ("gallery", 70, 50, 30, 35),
        ("ranking", 25, 65, 45, 20),
        ("footer", 0, 85, 100, 15),
    ),
    "finance": _blocks(
        ("masthead", 0, 0, 100, 10),
        ("clock", 0, 10, 100, 6),
        ("menu", 0, 16, 15, 60),
        ("rotation", 15, 16, 30, 30),
        ("headlines", 45, 16, 55, 50),
        ("advert", 15, 46, 30, 30),
        ("story", 45, 66, 55, 24),
        ("article", 0, 76, 45, 14),
        ("footer", 0, 90, 100, 10),
    ),
    "courseware": _blocks(
        ("masthead", 0, 0, 40, 15),
        ("menu", 40, 0, 60, 15),
        ("article", 0, 15, 35, 65),
        ("story", 35, 15, 65, 35),
        ("rotation", 35, 50, 65, 15),
        ("headlines", 35, 65, 65, 20),
        ("footer", 0, 80, 35, 20),
        ("gallery", 35, 85, 65, 15),
    ),
    "magazine": _blocks(
        ("advert", 0, 0, 25, 50),
        ("masthead", 25, 0, 75, 15),
        ("story", 25, 15, 75, 50),
        ("rotation", 0, 50, 25, 50),
        ("gallery", 25, 65, 35, 25),
        ("headlines", 60, 65, 40, 35),
        ("menu", 25, 90, 35, 10),
    ),
}
DEVELOPMENT = ("newspaper", "portal", "university", "music")
"""The designs that anything may be tuned on, with seeds from 100."""
HELD_OUT = ("broadcaster", "finance", "courseware", "magazine")
"""The designs of reported figures, with seeds from 0."""
