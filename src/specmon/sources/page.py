"""Asking running servers for their pages, through the machine that they run on. Every fault is an answer."""

from __future__ import annotations

from dataclasses import dataclass, field

from specmon.errors import SpecmonError
from specmon.sources.http import AnswerEnd, HttpAnswer, get, read_answer
from specmon.sources.machine import ForwardingRefused, Machine, PortClosed
from specmon.sources.page_access import PageAccess
from specmon.sources.tls import CertificateRefused, TlsFailed

LIMIT_S = 5.0  # for all that one page takes
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1", "localhost": "127.0.0.1"}
_TLS_ALERT = b"\x15\x03"  # how a TLS server answers to plain HTTP, where it does not just hang up
_LOCKED = (401, 403)
_TRUST_IT = "Name it, or its authority's, with --metrics-ca FILE; --metrics-insecure asks without that proof."


@dataclass(frozen=True, slots=True)
class Door:
    """Where a server listens."""

    host: str | None  # as it says itself
    port: int
    is_tls: bool = False  # its launch flags say so; else plain HTTP is tried first

    @property
    def address(self) -> str:
        """What to connect to: a server that listens everywhere is met on the loopback."""
        return _ANYWHERE.get(self.host or "", self.host or "")


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """What came of the question."""

    body: bytes | None
    fault: str = ""  # why there is no page
    mend: str = ""  # what the user can do about it, a sentence
    is_closed: bool = False  # nobody listens: the server is still loading, or gone
    is_missing: bool = False  # the server is there and has no such page
    is_unreachable: bool = False  # the SSH server lets nothing through
    is_silent: bool = False  # no answer came

    @property
    def reason(self) -> str:
        """Fault and mend in one clause."""
        return f"{self.fault} ({self.mend[:1].lower()}{self.mend[1:].rstrip('.')})" if self.mend else self.fault


@dataclass(slots=True)
class Pages:
    """The pages of one machine's servers. It remembers what it learned of each, so that it need not be refused twice.

    A key goes only to a server that has refused to answer without it.
    """

    machine: Machine
    access: PageAccess = field(default_factory=PageAccess)
    _tls_ports: set[int] = field(default_factory=set)
    _locked: set[tuple[int, str]] = field(default_factory=set)  # pages that were given for the key

    async def ask(
        self, door: Door, path: str, *, limit_bytes: int, accept: str = "application/json", limit_s: float | None = None
    ) -> PageAnswer:
        """Ask for a page. Redirections are not followed: they may lead anywhere."""
        where = f"{path} on port {door.port}"
        asked = _Question(self, door, path, accept, limit_bytes, LIMIT_S if limit_s is None else limit_s)
        try:
            data = await asked.answer()
        except PortClosed:
            return PageAnswer(None, f"nobody listens on port {door.port} yet", is_closed=True)
        except CertificateRefused as error:
            return PageAnswer(None, f"{where}: the server's certificate is not trusted: {error}", _TRUST_IT)
        except TlsFailed as error:
            self._tls_ports.discard(door.port)
            return PageAnswer(None, f"{where} should speak TLS: {error}")
        except SpecmonError as error:
            is_refused = isinstance(error, ForwardingRefused)
            fault = f"{where} gave no answer: {error}"
            return PageAnswer(None, fault, is_unreachable=is_refused, is_silent=not is_refused)
        http = read_answer(data)
        if http is None:
            return PageAnswer(None, f"{where} does not speak HTTP" + ("" if data else ": it hangs up"))
        return _judged(http, where, asked, is_full=len(data) >= limit_bytes)


@dataclass(slots=True)
class _Question:
    """One page of one server, asked as often as it takes to know how."""

    pages: Pages
    door: Door
    path: str
    accept: str
    limit_bytes: int
    limit_s: float
    had_key: bool = False  # the last question held a key

    @property
    def key(self) -> str | None:
        """What is meant for this server."""
        return self.pages.access.header_for(self.pages.machine.name, self.door.address, self.door.port)

    async def answer(self) -> bytes:
        """What the server answers in the end."""
        pages, port = self.pages, self.door.port
        is_tls = self.door.is_tls or port in pages._tls_ports
        place = (port, self.path)
        data = await self._exchange(is_tls=is_tls, with_key=place in pages._locked)
        if not is_tls and (not data or data.startswith(_TLS_ALERT)):
            try:
                data = await self._exchange(is_tls=True, with_key=place in pages._locked)
            except TlsFailed:
                return data
            pages._tls_ports.add(port)
            is_tls = True
        if _status_of(data) in _LOCKED and not self.had_key and self.key is not None:
            data = await self._exchange(is_tls=is_tls, with_key=True)
            if _status_of(data) not in _LOCKED:
                pages._locked.add(place)
        return data

    async def _exchange(self, *, is_tls: bool, with_key: bool) -> bytes:
        machine, door = self.pages.machine, self.door
        key = self.key if with_key else None
        self.had_key = key is not None
        return await machine.exchange(
            door.address,
            door.port,
            get(self.path, door.address, door.port, accept=self.accept, authorization=key),
            is_whole=AnswerEnd(),
            limit_bytes=self.limit_bytes,
            timeout_s=self.limit_s,
            tls=self.pages.access.check_for(machine.name, door.address) if is_tls else None,
        )


def _judged(http: HttpAnswer, where: str, asked: _Question, *, is_full: bool) -> PageAnswer:
    if http.status in _LOCKED:
        return _locked(where, asked)
    if http.status in (404, 501):  # 501: llama.cpp without --metrics
        return PageAnswer(None, f"{where} is not there", is_missing=True)
    if 300 <= http.status < 400:
        return PageAnswer(None, f"{where} leads elsewhere (status {http.status}), which specmon does not follow")
    if http.status != 200:
        return PageAnswer(None, f"{where} answers with status {http.status}")
    if http.fault:
        return PageAnswer(None, f"{where} {http.fault}")
    if http.is_cut and not is_full:
        return PageAnswer(None, f"{where} breaks off")
    return PageAnswer(http.body)


def _locked(where: str, asked: _Question) -> PageAnswer:
    if asked.had_key:
        return PageAnswer(None, f"{where} refuses the API key", "Give the whole header value, as `Bearer KEY`.")
    host = asked.pages.access.host_for(asked.pages.machine.name, asked.door.address)
    return PageAnswer(
        None,
        f"{where} wants an API key",
        f"Put the header value, as `Bearer KEY`, into a variable NAME and give --metrics-header-env {host}=NAME.",
    )


def _status_of(data: bytes) -> int | None:
    # Its head is enough: this is asked of every page.
    answer = read_answer(data[: 1 << 16])
    return None if answer is None else answer.status
