"""What a compressed file unpacks to, read piece by piece; the format is told by the file's first bytes."""

import zlib
from collections.abc import Callable
from typing import IO, Any, Protocol

_MEMORY_LIMIT_BYTES = 256 * 1024 * 1024
"""What a file may make a decompressor ask for; xz -9 needs 65 MiB, zstd --long=27 128 MiB."""
_PIECE_BYTES = 64 * 1024


class Stream(Protocol):
    """Bytes one after the other. ``read`` gives ``b""`` at the end and raises OSError for damage."""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes."""


def decompressed(file: IO[bytes], start: bytes) -> Stream:
    """The bytes that ``file``, which starts with ``start``, unpacks to; ``file`` itself when it is not compressed."""
    for magic, opened in _FORMATS.items():
        if start.startswith(magic):
            return opened(file)
    return file


class _Unpacked:
    """A decompressor of the standard library or zstandard whose every error is an OSError."""

    def __init__(self, inner: Stream, *errors: type[Exception]) -> None:
        self._inner = inner
        self._errors: tuple[type[Exception], ...] = (EOFError, ValueError, MemoryError, *errors)

    def read(self, size: int, /) -> bytes:
        try:
            return self._inner.read(size)
        except self._errors as error:
            raise OSError(str(error)) from None


class _Xz:
    """The bytes of an xz file, streams one after the other; `lzma.open` takes no limit for memory."""

    def __init__(self, file: IO[bytes], new_decoder: Callable[[], Any]) -> None:
        self._file = file
        self._new_decoder = new_decoder
        self._decoder = new_decoder()

    def read(self, size: int, /) -> bytes:
        while True:
            if self._decoder.eof:
                rest = self._decoder.unused_data.lstrip(b"\0") or self._file.read(_PIECE_BYTES).lstrip(b"\0")
                if not rest:
                    return b""
                self._decoder = self._new_decoder()
            else:
                rest = self._file.read(_PIECE_BYTES) if self._decoder.needs_input else b""
                if not rest and self._decoder.needs_input:
                    raise EOFError("the compressed file ends too early")
            piece: bytes = self._decoder.decompress(rest, size)
            if piece:
                return piece


def _gzip(file: IO[bytes]) -> Stream:
    import gzip

    return _Unpacked(gzip.GzipFile(fileobj=file, mode="rb"), zlib.error)


def _bzip2(file: IO[bytes]) -> Stream:
    import bz2

    return _Unpacked(bz2.BZ2File(file))


def _xz(file: IO[bytes]) -> Stream:
    import lzma

    return _Unpacked(
        _Xz(file, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY_LIMIT_BYTES)), lzma.LZMAError
    )


def _zstd(file: IO[bytes]) -> Stream:
    import zstandard

    decoder = zstandard.ZstdDecompressor(max_window_size=_MEMORY_LIMIT_BYTES)
    return _Unpacked(decoder.stream_reader(file, read_across_frames=True), zstandard.ZstdError)


_FORMATS: dict[bytes, Callable[[IO[bytes]], Stream]] = {
    b"\x1f\x8b": _gzip,
    b"BZh": _bzip2,
    b"\xfd7zXZ\0": _xz,
    b"\x28\xb5\x2f\xfd": _zstd,
}
