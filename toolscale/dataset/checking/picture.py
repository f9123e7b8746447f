"""Whether bytes are a picture such as matplotlib saves, and nothing else: no text, nothing behind the end, no size that
a reader cannot hold."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_PIXELS = 2_000
"""Width and height. The pictures of a card are 1,100 pixels wide and at most 800 high."""

CHANNELS = {2: 3, 6: 4}
"""Colour type of PNG, RGB or RGBA -> bytes a pixel."""

KNOWN_CHUNKS = {b"IHDR", b"pHYs", b"gAMA", b"sRGB", b"IDAT", b"IEND"}
"""Chunks that hold nothing but the picture. Those of text could hold anything."""


def picture_problem(content: bytes) -> str | None:
    """Return why `content` is not a whole PNG of a sensible size, or None if it is."""
    try:
        _check(content)
    except ValueError as error:
        return str(error)
    except zlib.error as error:
        return f"its pixels cannot be unpacked: {error}"
    return None


def _check(content: bytes) -> None:
    chunks = list(_chunks(content))
    if (
        [name for name, _ in chunks[:1]] != [b"IHDR"]
        or [name for name, _ in chunks[-1:]] != [b"IEND"]
        or len(chunks[0][1]) != 13
    ):
        raise ValueError("it does not begin with a header and end with an end")
    if strange := sorted({name for name, _ in chunks} - KNOWN_CHUNKS):
        raise ValueError(f"it has a part {strange[0].decode('latin-1')!r}")
    header = chunks[0][1]
    width, height = int.from_bytes(header[:4], "big"), int.from_bytes(header[4:8], "big")
    if not (0 < width <= MOST_PIXELS and 0 < height <= MOST_PIXELS):
        raise ValueError(f"it has {width} x {height} pixels")
    if header[8] != 8 or header[9] not in CHANNELS or any(header[10:]):
        raise ValueError("it has another kind of pixels")
    line = width * CHANNELS[header[9]] + 1  # each line begins with the number of its filter
    unpacking = zlib.decompressobj()
    pixels = unpacking.decompress(b"".join(data for name, data in chunks if name == b"IDAT"), height * line + 1)
    if (
        len(pixels) != height * line
        or not unpacking.eof
        or unpacking.unused_data
        or any(filter_ > 4 for filter_ in pixels[::line])
    ):
        raise ValueError("its pixels are not as many as it says")


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    if not content.startswith(SIGNATURE):
        raise ValueError("it is no PNG")
    place = len(SIGNATURE)
    while place < len(content):
        length = int.from_bytes(content[place : place + 4], "big")
        name, data, check = (
            content[place + start : place + end] for start, end in ((4, 8), (8, 8 + length), (8 + length, 12 + length))
        )
        if len(check) != 4 or zlib.crc32(name + data) != int.from_bytes(check, "big"):
            raise ValueError(f"it is damaged at byte {place}")
        yield name, data
        place += 12 + length
