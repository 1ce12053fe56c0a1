"""Prints the answer to one question about a path whose server may be dead. Run as a program by `advisor.host.live`,
which leaves it behind when it hangs. Imports nothing of advisor, to start fast.

Arguments: the question, the path, and for ``data`` how many bytes. Prints ``{"answer": ...}`` or ``{"errno": ...}``.
"""

import base64
import json
import os
import stat
import sys
from typing import Any


def answer(question: str, path: bytes, limit: int) -> Any:
    """The answer in JSON types; bytes as base64."""
    if question == "data":
        if not stat.S_ISREG(os.stat(path).st_mode):
            # Opening a device can set it going; a FIFO would have us wait.
            raise OSError(95, "not a regular file")
        with open(path, "rb") as file:
            return _packed(file.read(limit))
    if question == "names":
        return [_packed(name) for name in os.listdir(path)]
    if question == "link":
        return _packed(os.readlink(path))
    if question == "real":
        return _packed(os.path.realpath(path, strict=True))
    if question == "mode":
        return stat.S_IMODE(os.stat(path).st_mode)
    s = os.statvfs(path)
    return [s.f_frsize, s.f_blocks, s.f_bavail, s.f_files, s.f_ffree]


def _packed(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


if __name__ == "__main__":
    try:
        document = {"answer": answer(sys.argv[1], os.fsencode(sys.argv[2]), int(sys.argv[3]))}
    except OSError as error:
        document = {"errno": error.errno}
    print(json.dumps(document))
