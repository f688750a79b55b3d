"""UTF-16, in which PowerShell of Windows writes what is redirected (`docker logs spec > spec.log`), as UTF-8."""

from __future__ import annotations

import codecs

_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


class Utf16Reader:
    """Hands bytes on as they are, or as UTF-8 when the source begins with a mark of UTF-16."""

    def __init__(self) -> None:
        self._decoder: codecs.IncrementalDecoder | None = None
        self._end = 0  # offset after the last byte that was handed on as UTF-8

    def feed(self, data: bytes, offset: int, base: int = 0) -> tuple[bytes, int]:
        """Bytes that stand at `offset`, and where they now stand; `base` is the beginning of the file."""
        if offset == base:
            encoding = _MARKS.get(data[:2])
            self._decoder = codecs.getincrementaldecoder(encoding)("replace") if encoding else None
            data, self._end = (data[2:], base) if encoding else (data, base)
        if self._decoder is None:
            return data, offset
        text = self._decoder.decode(data).encode("utf-8", "replace")
        start = self._end
        self._end += len(text)
        return text, start
