"""Under which conditions the process runs that writes a log, asked of its machine."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import TypeVar
from weakref import WeakKeyDictionary

from pydantic import JsonValue

from specmon.errors import SpecmonError
from specmon.feeds.live import Seen
from specmon.feeds.trails import Trail
from specmon.references.fingerprint import Fingerprint
from specmon.sources.discovery import DiscoveredServer, discover, engine_of, is_wanted
from specmon.sources.engines import Engine
from specmon.sources.gpus import Gpus, read_gpus
from specmon.sources.machine import Machine
from specmon.sources.nccl_conf import settings_beneath
from specmon.sources.page import Door, Pages
from specmon.sources.page_access import PageAccess
from specmon.sources.surroundings import Surroundings, read_surroundings
from specmon.sources.version_page import VersionAnswer, ask_version

_Answer = TypeVar("_Answer")

# Several servers of one machine are looked at one after the other: an SSH server allows few sessions at a time.
_TURNS: WeakKeyDictionary[Machine, asyncio.Lock] = WeakKeyDictionary()


@dataclass(slots=True)
class _Known:
    """What has been read of one process; it is asked again only for what is not here."""

    surroundings: Surroundings | None = None
    gpus: Gpus | None = None
    page: VersionAnswer | None = None
    faults: dict[str, str] = field(default_factory=dict)  # by step: why it came to nothing


class ProcessConditions:
    """Finds the server process behind a log, and reads what can be known of its conditions.

    Everything is read-only, each step has its own time limit, and a step that fails loses none of the others. The
    environment is read at every look, since a server's children come late; versions, GPUs and configuration files once
    for each process.
    """

    def __init__(self, host: Machine, trail: Trail, access: PageAccess | None = None) -> None:
        self._host = host
        self._pages = Pages(host, access or PageAccess())
        self._trail = trail
        self._process = ""
        self._known = _Known()

    async def read(self) -> Seen:
        """The conditions now; no fingerprint when no process is found. Raises SpecmonError when nobody can tell."""
        async with _TURNS.setdefault(self._host, asyncio.Lock()):
            found = await discover(self._host)
            server = await self._trail.find(self._host, found)
            if isinstance(server, str):
                return Seen(None, server)
            process = process_of(server)
            if process != self._process:
                self._process, self._known = process, _Known()
            known = self._known
            await self._read_more(server, known)
        # Not in the turn of the machine: a server that never answers holds up nobody else.
        await self._ask_for_version(server, known)
        fingerprint = fingerprint_of(server, known.surroundings, known.gpus, known.page)
        assert fingerprint is not None
        unread = (*fingerprint.unread, *known.faults.values())
        fingerprint = fingerprint.model_copy(update={"unread": unread})
        return Seen(fingerprint, fingerprint.unread_sentence, process)

    async def _read_more(self, server: DiscoveredServer, known: _Known) -> None:
        if server.surroundings is not None and (known.surroundings is None or _lacks(server, known.surroundings)):
            question = read_surroundings(self._host, server.surroundings)
            known.surroundings = await self._step("versions", question) or known.surroundings
        if known.gpus is None or not known.gpus.each:
            known.gpus = await self._step("GPUs", read_gpus(self._host)) or known.gpus

    async def _ask_for_version(self, server: DiscoveredServer, known: _Known) -> None:
        if known.page is not None and known.page.version is not None:
            return
        if (reason := why_not_asked(server, known.surroundings)) is None:
            door = Door(server.host, server.port, speaks_tls(server))
            known.page = checked(server, await ask_version(self._pages, engine_of(server), door))
        else:
            known.page = VersionAnswer(None, reason)

    async def _step(self, what: str, asking: Awaitable[_Answer]) -> _Answer | None:
        try:
            answer = await asking
        except SpecmonError as error:
            self._known.faults[what] = f"{what}: {error}"
            return None
        self._known.faults.pop(what, None)
        return answer


def process_of(server: DiscoveredServer) -> str:
    """Tells one server process from every other one of its machine."""
    return f"{server.pid} {server.started_at}"


def fingerprint_of(
    server: DiscoveredServer | None,
    surroundings: Surroundings | None = None,
    gpus: Gpus | None = None,
    page: VersionAnswer | None = None,
) -> Fingerprint | None:
    """What a found process and its surroundings prove, with the reasons for what is not in it."""
    if server is None:
        return None
    unread = [f"environment: {server.env_reason}"] if server.env_reason else []
    env, env_from = dict(server.env), dict[str, str]()
    if surroundings is not None:
        for name, (value, path) in settings_beneath(server.env, surroundings.conf_files).items():
            if is_wanted(name, value):
                env[name], env_from[name] = value, path
        hidden = [file.path for file in surroundings.conf_files if file.content is None]
        unread += [f"{path}: no permission to read it" for path in hidden]
        if not surroundings.is_readable:
            unread.append(f"nccl.conf and packages: no permission to look into process {server.pid} (another user's)")
            hidden.append("")
        is_partial = bool(server.env_reason or hidden)
    else:
        is_partial = bool(server.env_reason)
    versions = versions_of(engine_of(server), surroundings, gpus, page)
    if page is not None and "engine" not in versions:
        unread.append(f"engine version: {page.reason}")
    if gpus is not None and gpus.reason:
        unread.append(f"GPUs: {gpus.reason}")
    table = None if gpus is None else gpus.table(env.get("CUDA_VISIBLE_DEVICES"))
    is_apart = server.keeper is not None and server.keeper.kind != "unit"  # may count GPUs of its own from 0
    if table is not None and (is_apart or server.env_reason):
        table.pop("uuids", None)
    gpu: dict[str, JsonValue] | None = None if table is None else {name: _json(value) for name, value in table.items()}
    return Fingerprint(
        flags=dict(server.flags),
        env=dict(sorted(env.items())),
        env_from=env_from,
        env_is_partial=is_partial,
        versions=versions or None,
        gpu=gpu,
        unread=tuple(unread),
    )


def versions_of(
    engine: Engine, surroundings: Surroundings | None, gpus: Gpus | None, page: VersionAnswer | None
) -> dict[str, str]:
    """Engine (its own word before its package's), NCCL, PyTorch and kernel libraries, driver."""
    around = surroundings or Surroundings()
    packages = dict(around.packages)
    packaged = packages.pop(engine.distribution or "", None)
    told = {
        "engine": (page.version if page is not None else None) or packaged,
        **packages,
        # the file that the process has mapped counts before a package that may not be in use
        "nccl": around.nccl_library or packages.get("nccl"),
        "driver": around.driver or (gpus.driver if gpus is not None else None),
    }
    return {name: version for name, version in told.items() if version}


def speaks_tls(server: DiscoveredServer) -> bool:
    """Whether a certificate stands on its command line."""
    return any(server.flags.get(name) for name in ("ssl_keyfile", "ssl_certfile", "ssl_cert_file"))


def why_not_asked(server: DiscoveredServer, surroundings: Surroundings | None) -> str | None:
    """Why a server's version page is not worth a question; None when it is."""
    if surroundings is not None and surroundings.network == "other":
        return f"port {server.port} is in a network of its own (a container's)"
    return None


def checked(server: DiscoveredServer, page: VersionAnswer) -> VersionAnswer:
    """The answer, unless it is another server's that has taken the port."""
    expected = server.flags.get("model_path")
    if page.version is None or page.model is None or not isinstance(expected, str) or page.model == expected:
        return page
    return VersionAnswer(None, f"port {server.port} answers for another model")


def _lacks(server: DiscoveredServer, found: Surroundings) -> bool:
    """Whether a later look may find more: at the start a process has not loaded its packages yet."""
    wanted = {engine_of(server).distribution, "torch"} - {None}
    return found.is_readable and not wanted <= found.packages.keys() and bool(engine_of(server).distribution)


def _json(value: str | int | float | list[str] | list[int] | list[float]) -> JsonValue:
    return list(value) if isinstance(value, list) else value
