"""What surrounds a server process on its machine: host name, driver, packages, NCCL's configuration files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

from specmon.errors import SourceLost
from specmon.sources.machine import Machine
from specmon.sources.nccl_conf import ConfFile
from specmon.sources.processes import RunningProcess
from specmon.sources.remote_commands import ReadSurroundings
from specmon.sources.shell_words import behind_greeting

_LIMIT_S = 20.0
_PACKAGE = re.compile(r"(?P<name>[A-Za-z0-9._]+)-(?P<version>[^-]+)\.dist-info")
_DRIVER = re.compile(r"Module\s+(?:for \S+\s+)?(\d{2,4}(?:\.\d+){1,3})")
_LIBRARY = re.compile(r"libnccl\.so\.(\d+\.\d+(?:\.\d+)*)")
_MANY_PREFIXES = 16


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What was found around a process."""

    host_name: str | None = None
    driver: str | None = None
    packages: Mapping[str, str] = field(default_factory=dict)  # version by name; NCCL's CUDA suffix dropped
    nccl_library: str | None = None  # version of the NCCL library that the process has mapped, when its name tells
    conf_files: tuple[ConfFile, ...] = ()
    network: Literal["same", "other", "unknown"] = "unknown"  # whether the process shares the host's ports
    is_readable: bool = True  # False: another user's process, so that its files cannot be seen
    is_gone: bool = False


async def read_surroundings(machine: Machine, question: ReadSurroundings) -> Surroundings:
    """Ask for a process's surroundings. SourceLost when the machine gives no usable answer."""
    result = await machine.run(question.text(), timeout_s=_LIMIT_S)
    if not (answer := behind_greeting(result.stdout, b"name ")):
        raise SourceLost(f"{machine.name}: the shell gave no usable answer about process {question.pid}")
    return parse_surroundings(answer)


def question_about(process: RunningProcess) -> ReadSurroundings:
    """What to ask to learn a process's surroundings."""
    env = dict(process.environ or ())
    return ReadSurroundings(process.pid, env.get("NCCL_CONF_FILE", ""), env.get("HOME", ""), prefixes(process))


def prefixes(process: RunningProcess) -> tuple[str, ...]:
    """Folders that may be the installation of a process's Python, the likeliest first.

    `/opt/venv/bin/python3` is a link to another Python, whose own packages would be the wrong ones: so the name by
    which it was called counts before the program that it is.
    """
    env = dict(process.environ or ())
    program = PurePosixPath(process.args[0]) if process.args else PurePosixPath()
    found = []
    if program.is_absolute() and program.parent.name == "bin":
        found.append(str(program.parent.parent))
    found += [env[name] for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if env.get(name, "").startswith("/")]
    if len(program.parts) == 1:  # found by the shell
        folders = map(PurePosixPath, env.get("PATH", "").split(":"))
        found += [str(folder.parent) for folder in folders if folder.is_absolute() and folder.name == "bin"]
    return tuple(dict.fromkeys(found))[:_MANY_PREFIXES]


def parse_surroundings(answer: bytes) -> Surroundings:
    """Read the answer to a `ReadSurroundings`; lines that are not understood are passed over."""
    host_name = driver = library = None
    packages: dict[str, str] = {}
    files: list[ConfFile] = []
    network: Literal["same", "other", "unknown"] = "unknown"
    is_readable, is_gone = True, False
    for line in answer.splitlines():
        word, rest = (line.split() or [b""])[0], line.split()[1:]
        try:
            match word, rest:
                case b"name", _:
                    host_name = _text(rest).strip() or None
                case b"driver", _:
                    driver = found[1] if (found := _DRIVER.search(_text(rest))) else None
                case b"net", [b"same"]:
                    network = "same"
                case b"net", [b"other"]:
                    network = "other"
                case b"noroot", _:
                    is_readable = False
                case b"gone", _:
                    is_gone = True
                case b"nccl", _:
                    library = found[1] if (found := _LIBRARY.search(_text(rest))) else None
                case b"package", _:
                    if found := _PACKAGE.fullmatch(_text(rest)):
                        packages.setdefault(_plain_name(found["name"]), found["version"])
                case b"conf", _:
                    colon = rest.index(b":")
                    files.append(ConfFile(_text(rest[:colon]), _bytes(rest[colon + 1 :])))
                case b"noconf", _:
                    files.append(ConfFile(_text(rest), None))
        except ValueError:
            continue
    return Surroundings(host_name, driver, packages, library, tuple(files), network, is_readable, is_gone)


def surroundings_answer(found: Surroundings) -> bytes:
    """The answer to a `ReadSurroundings` that says this: what the demo's server sends."""
    lines = [f"name {(found.host_name or '').encode().hex()}"]
    if found.driver is not None:
        lines.append(f"driver {f'Kernel Module  {found.driver} '.encode().hex()}")
    if found.network != "unknown":
        lines.append(f"net {found.network}")
    if found.is_gone:
        lines.append("gone")
    if not found.is_readable:
        lines.append("noroot")
    for file in found.conf_files:
        path = file.path.encode().hex()
        lines.append(f"noconf {path}" if file.content is None else f"conf {path} : {file.content.hex()}")
    if found.nccl_library is not None:
        lines.append(f"nccl {f'/libnccl.so.{found.nccl_library}'.encode().hex()}")
    lines += [f"package {f'{name}-{version}.dist-info'.encode().hex()}" for name, version in found.packages.items()]
    return "\n".join(lines).encode() + b"\n"


def _plain_name(name: str) -> str:
    lowered = name.lower().replace(".", "_")
    return "nccl" if lowered.startswith("nvidia_nccl_cu") else lowered


def _bytes(words: list[bytes]) -> bytes:
    return bytes.fromhex(b"".join(words).decode("ascii"))


def _text(words: list[bytes]) -> str:
    return _bytes(words).decode("utf-8", "replace")
