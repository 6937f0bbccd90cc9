"""A progressive JPEG of many empty scans: each makes a decoder go over all of the picture again."""

_DC_TABLE = b"\xff\xc4\x00\x14\x00\x01" + bytes(15) + b"\x00"
_AC_TABLE = b"\xff\xc4\x00\x14\x10\x01" + bytes(15) + b"\xe0"
"""One code, of one bit: a run of 2^14 blocks and more without anything, the number in 14 further bits."""


def many_scans(side: int, scans: int) -> bytes:
    """Return a grey picture of so many pixels a side; a side is a multiple of 8."""
    blocks = (side // 8) ** 2
    frame = b"\xff\xc2\x00\x0b\x08" + side.to_bytes(2) * 2 + b"\x01\x01\x11\x00"
    quantization = b"\xff\xdb\x00\x43\x00" + b"\x01" * 64
    first = _scan(0, 0, "0" * blocks)
    longest, rest = divmod(blocks, 2**15 - 1)
    runs = ("0" + "1" * 14) * longest
    runs += "".join("0" + f"{0:014b}" for _ in range(rest // 2**14))
    again = _scan(1, 63, runs or "0")
    return b"\xff\xd8" + quantization + frame + _DC_TABLE + _AC_TABLE + first + again * scans + b"\xff\xd9"


def _scan(start: int, end: int, bits: str) -> bytes:
    header = b"\xff\xda\x00\x08\x01\x01\x00" + bytes([start, end, 0])
    bits += "1" * (-len(bits) % 8)
    return header + int(bits, 2).to_bytes(len(bits) // 8).replace(b"\xff", b"\xff\x00")
