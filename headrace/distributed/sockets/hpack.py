"""Headers of HTTP/2 as bytes (RFC 7541).  Pure: pairs of names and values in, bytes out, and back.

Both ends do without a table of their own: we send every header in full, and tell the peer (in the settings of
`http2.py`) to do so, too.  So a block of headers means the same whatever came before it.
"""

from __future__ import annotations

from collections.abc import Iterable

Header = tuple[bytes, bytes]

# What an index from 1 to 61 stands for (RFC 7541, appendix A): a name, with a value where there is one.
_STATIC = [
    tuple(line.partition(b" ")[::2])
    for line in (
        b":authority|:method GET|:method POST|:path /|:path /index.html|:scheme http|:scheme https"
        b"|:status 200|:status 204|:status 206|:status 304|:status 400|:status 404|:status 500|accept-charset"
        b"|accept-encoding gzip, deflate|accept-language|accept-ranges|accept|access-control-allow-origin|age"
        b"|allow|authorization|cache-control|content-disposition|content-encoding|content-language"
        b"|content-length|content-location|content-range|content-type|cookie|date|etag|expect|expires|from|host"
        b"|if-match|if-modified-since|if-none-match|if-range|if-unmodified-since|last-modified|link|location"
        b"|max-forwards|proxy-authenticate|proxy-authorization|range|referer|refresh|retry-after|server"
        b"|set-cookie|strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate"
    ).split(b"|")
]
# Bits of the code of each octet, and of the end (appendix B).  The codes themselves follow: shorter ones
# first, those of one length in the order of their octets.
_BITS = (
    "13 23 28 28 28 28 28 28 28 24 30 28 28 30 28 28 28 28 28 28 28 28 30 28 28 28 28 28 28 28 28 28 6 "
    "10 10 12 13 6 8 11 10 10 8 11 8 6 6 6 5 5 5 6 6 6 6 6 6 6 7 8 15 6 12 10 13 6 7 7 7 7 7 7 7 7 7 7 "
    "7 7 7 7 7 7 7 7 7 7 7 7 8 7 8 13 19 13 14 6 15 5 6 5 6 5 6 6 6 5 7 7 6 6 6 5 6 7 6 5 5 6 7 7 7 7 7 "
    "15 11 14 13 28 20 22 20 20 22 22 22 23 22 23 23 23 23 23 24 23 24 24 22 23 24 23 23 23 23 21 22 23 "
    "22 23 23 24 22 21 20 22 22 23 23 21 23 22 22 24 21 22 23 23 21 21 22 21 23 22 23 23 20 22 22 22 23 "
    "22 22 23 26 26 20 19 22 23 22 25 26 26 26 27 27 26 24 25 19 21 26 27 27 26 27 24 21 21 26 26 28 27 "
    "27 27 20 24 20 21 22 21 21 23 22 22 25 25 24 24 26 23 26 27 26 26 27 27 27 27 27 28 27 27 27 27 27 "
    "26 30"
)
_END = 256


class BadHeaders(ValueError):
    """Bytes that are no headers, or that need a table which the peer was told not to keep."""


def encode(headers: Iterable[Header]) -> bytes:
    """Every header in full, for nobody's table."""
    return b"".join(b"\x00" + _text(name) + _text(value) for name, value in headers)


def _text(data: bytes) -> bytes:
    return _number(len(data), 7) + data


def _number(value: int, bits: int) -> bytes:
    """What does not fit into the first octet's last bits follows, seven bits at a time."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([value])
    out = [most]
    value -= most
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def decode(block: bytes) -> list[Header]:
    """The headers of a block.

    Raises:
      BadHeaders: it is none.
    """
    found: list[Header] = []
    try:
        place = 0
        while place < len(block):
            first = block[place]
            if first & 0x80:  # both from the table
                index, place = _read_number(block, place, 7)
                found.append(_known(index))
            elif first & 0xE0 == 0x20:  # the size of the peer's own table
                _, place = _read_number(block, place, 5)
            else:  # a value, and perhaps a name, in full
                index, place = _read_number(block, place, 6 if first & 0x40 else 4)
                if index:
                    name = _known(index)[0]
                else:
                    name, place = _read_text(block, place)
                value, place = _read_text(block, place)
                found.append((name, value))
    except IndexError:
        raise BadHeaders("a block of headers is cut short") from None
    return found


def _known(index: int) -> Header:
    if not 1 <= index <= len(_STATIC):
        raise BadHeaders(f"a header refers to {index} of a table that is not kept")
    return _STATIC[index - 1]  # type: ignore[return-value]


def _read_number(block: bytes, place: int, bits: int) -> tuple[int, int]:
    most = (1 << bits) - 1
    value, place = block[place] & most, place + 1
    if value < most:
        return value, place
    for shift in range(0, 35, 7):
        octet, place = block[place], place + 1
        value += (octet & 0x7F) << shift
        if octet < 0x80:
            return value, place
    raise BadHeaders("a number of more than 32 bits")


def _read_text(block: bytes, place: int) -> tuple[bytes, int]:
    is_short = block[place] & 0x80
    size, place = _read_number(block, place, 7)
    data = block[place : place + size]
    if len(data) != size:
        raise IndexError
    return (_unpacked(data) if is_short else data), place + size


# -- Huffman's code ------------------------------------------------------------------------------
def _codes() -> dict[tuple[int, int], int]:
    """(bits, code) -> the octet."""
    bits = list(map(int, _BITS.split()))
    found, code, before = {}, 0, 0
    for octet in sorted(range(_END + 1), key=lambda o: (bits[o], o)):
        code <<= bits[octet] - before
        before = bits[octet]
        found[before, code] = octet
        code += 1
    return found


_tables: list[dict[tuple[int, int], int]] = []


def _unpacked(data: bytes) -> bytes:
    """A text in Huffman's code; up to seven bits of the end's code fill the last octet."""
    if not _tables:
        _tables.append(_codes())
    table, out, code, bits = _tables[0], bytearray(), 0, 0
    for octet in data:
        for shift in range(7, -1, -1):
            code, bits = code << 1 | octet >> shift & 1, bits + 1
            found = table.get((bits, code))
            if found == _END or bits > 30:
                raise BadHeaders("a text in a code that nobody knows")
            if found is not None:
                out.append(found)
                code = bits = 0
    if bits > 7 or code != (1 << bits) - 1:
        raise BadHeaders("a text that ends within an octet")
    return bytes(out)
