"""One SSH connection to a host, shared by everything that is asked of it.

asyncssh reads the user's own configuration; what it would decide differently from OpenSSH is put right here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import asyncssh

from specmon.errors import SourceLost, SourceRefused
from specmon.sources.address import HostAddress, parse_host
from specmon.sources.converse import converse
from specmon.sources.jump_hosts import JumpHosts
from specmon.sources.known_hosts import ONCE, REMEMBER, UnknownKey, remember
from specmon.sources.logins import Logins
from specmon.sources.machine import READ_BYTES, CommandResult, IsWhole
from specmon.sources.proxy_command import ProxyCommand, is_safe_word
from specmon.sources.ssh_config import explained
from specmon.sources.ssh_errors import channel_error, connect_error, forwarding_error, hand_command, wants_answer
from specmon.sources.ssh_keys import offered_keys
from specmon.sources.ssh_login import (
    KeyKnowledge,
    LoginClient,
    Prompt,
    Question,
    ask_passphrase,
    key_name,
)
from specmon.sources.ssh_tokens import expanded
from specmon.sources.tls import TlsCheck
from specmon.sources.trusted_keys import trusted_keys

_MOST_BYTES = 64 << 20  # the longest answer, a list of a thousand processes, has a few
_PROMPT_LIMIT_S = 180.0  # a person looks for the phone and types a code


@dataclass(frozen=True, slots=True)
class SshSettings:
    """How hosts are reached. The defaults are what `ssh HOST` does."""

    config_file: Path | None = None  # None: ~/.ssh/config
    read_config: bool = True
    port: int | None = None
    user: str | None = None
    jump_host: str | None = None  # [user@]host[:port], several with commas; instead of what the configuration says
    client_keys: tuple[Path, ...] = ()  # besides those of the configuration and the agent, none when empty
    use_agent: bool = True
    known_hosts: tuple[Path, ...] = ()  # empty: what the configuration says, else ~/.ssh/known_hosts
    connect_timeout_s: float = 15.0
    login_timeout_s: float = 20.0
    keepalive_s: float = 15.0
    keepalive_count: int = 3
    waits_for_host: bool = False  # whether a host that was never reached is tried again


class _NoMoreSessions(SourceLost):
    """The connection carries as many sessions as the server allows."""


class _JumpRefused(SourceRefused):
    """A jump host refuses, after it has asked whoever can be asked."""


class RemoteStream:
    """A running remote command: two streams of bytes."""

    def __init__(self, process: asyncssh.SSHClientProcess[bytes], host: str) -> None:
        self._process = process
        self._host = host

    async def read(self) -> bytes:
        """The next bytes of stdout; b"" when the command has ended. SourceLost when the link is gone."""
        return await self._read(self._process.stdout)

    async def read_error(self) -> bytes:
        """The same for stderr."""
        return await self._read(self._process.stderr)

    async def _read(self, reader: asyncssh.SSHReader[bytes]) -> bytes:
        try:  # no time limit: a silent log is normal, and keepalives notice a dead link
            return await reader.read(READ_BYTES)  # chunks: a tenth of the CPU that reading by lines costs
        except (asyncssh.Error, OSError) as error:
            raise channel_error(error, self._host) from error


class SshHost:
    """A host and the one connection to it, dialled when first needed and again after it broke."""

    def __init__(
        self,
        address: HostAddress | str,
        settings: SshSettings | None = None,
        *,
        prompt: Prompt | None = None,
        accepted: dict[str, asyncssh.SSHKey] | None = None,
        logins: Logins | None = None,
        jumps: JumpHosts[SshHost] | None = None,
    ) -> None:
        """`logins`, `jumps`: shared with the other hosts that may lie behind the same jump host."""
        self.address = parse_host(address) if isinstance(address, str) else address
        self.settings = settings or SshSettings()
        self._prompt = prompt
        self._connection: asyncssh.SSHClientConnection | None = None
        self._proxies: list[ProxyCommand] = []
        self._dialling: asyncio.Task[asyncssh.SSHClientConnection] | None = None
        self._was_reached = self.settings.waits_for_host
        self._overflow: SshHost | None = None
        # By name and port: host keys that the user has accepted for as long as the program runs.
        self._accepted = {} if accepted is None else accepted
        self._unknown: UnknownKey | None = None  # of the last attempt
        self._logins = Logins() if logins is None else logins
        self._jumps = JumpHosts[SshHost]() if jumps is None else jumps
        self._taken: list[tuple[str, ...]] = []  # the keys of our jump hosts, the first hop first
        # Of a jump host: the hop before it, whom it leads to with their ports, and how it is called in questions.
        self._last_jump: SshHost | None = None
        self._before: SshHost | None = None
        self._trail: tuple[tuple[str, int], ...] = ()
        self._label = self.name

    @property
    def name(self) -> str:
        """The host as the user wrote it."""
        return str(self.address)

    @property
    def hop_names(self) -> tuple[str, ...]:
        """The jump hosts of the open connection, and the host itself."""
        if self._connection is None:
            return ()
        return (*(self._last_jump.hop_names if self._last_jump is not None else ()), self.address.name)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def connect(self) -> asyncssh.SSHClientConnection:
        """The open connection; dials when there is none. SourceLost or SourceRefused when it cannot be had."""
        if self._connection is not None and not self._connection.is_closed():
            return self._connection
        # Everybody who needs the host waits for the same attempt, and gets the same answer.
        if self._dialling is None or self._dialling.done():
            self._dialling = asyncio.create_task(self._dial_again(), name=f"dial {self.name}")
            self._dialling.add_done_callback(_take_error)
        return await asyncio.shield(self._dialling)

    async def run(self, command: str, *, timeout_s: float = 30.0) -> CommandResult:
        """Run a command to its end. SourceLost when the link breaks or the time is over."""
        try:
            async with asyncio.timeout(timeout_s) as limit, self._converted(limit):
                connection = await self.connect()
                process = await connection.create_process(command, encoding=None, stdin=asyncssh.DEVNULL)
                try:
                    stdout, stderr = await asyncio.gather(self._all_of(process.stdout), self._all_of(process.stderr))
                    await process.wait_closed()
                finally:
                    process.close()  # one that hangs is let go; OpenSSH keeps its session until the command ends
                if process.exit_status is None and connection.is_closed():
                    raise SourceLost(f"{self.name}: connection lost during a command")
                return CommandResult(stdout, stderr, process.exit_status)
        except _NoMoreSessions as full:
            return await (await self._next_line(full)).run(command, timeout_s=timeout_s)

    async def _all_of(self, reader: asyncssh.SSHReader[bytes]) -> bytes:
        """All that a command writes; a host that never stops must not fill our memory."""
        parts: list[bytes] = []
        size = 0
        while part := await reader.read(READ_BYTES):
            parts.append(part)
            size += len(part)
            if size > _MOST_BYTES:
                raise SourceLost(f"{self.name}: the answer of the host does not end")
        return b"".join(parts)

    async def exchange(
        self,
        host: str,
        port: int,
        request: bytes,
        *,
        is_whole: IsWhole,
        limit_bytes: int,
        timeout_s: float,
        tls: TlsCheck | None = None,
    ) -> bytes:
        """Send bytes to a port as the host sees it and read the answer, over the same connection.

        Nothing listens on this side: the bytes travel in a channel of their own. PortClosed when nobody listens there,
        ForwardingRefused when the SSH server does not allow it.
        """
        answer = bytearray()
        async with asyncio.timeout(timeout_s) as limit, self._converted(limit):
            connection = await self.connect()
            try:
                reader, writer = await connection.open_connection(host, port, encoding=None)
            except asyncssh.ChannelOpenError as error:
                raise forwarding_error(error, self.name, port) from error
            try:
                await converse(reader, writer, request, answer, is_whole=is_whole, limit_bytes=limit_bytes, tls=tls)
            finally:
                writer.channel.abort()
        return bytes(answer)

    @asynccontextmanager
    async def stream(self, command: str, *, timeout_s: float = 30.0) -> AsyncIterator[RemoteStream]:
        """Start a command (within `timeout_s`) and read what it writes; leaving closes its channel."""
        process = await self._start(command, timeout_s)
        try:
            yield RemoteStream(process, self.name)
        finally:
            # Closing the channel is all there is: remote signals do not reach every sshd. Its end is not waited for,
            # since on a frozen link it never comes.
            process.close()

    async def _start(self, command: str, timeout_s: float) -> asyncssh.SSHClientProcess[bytes]:
        try:
            async with asyncio.timeout(timeout_s) as limit, self._converted(limit):
                connection = await self.connect()
                # stdin stays open: its end tells the far side that nobody listens any more
                return await connection.create_process(command, encoding=None)
        except _NoMoreSessions as full:
            return await (await self._next_line(full))._start(command, timeout_s)

    async def _next_line(self, full: SourceLost) -> SshHost:
        """Another connection to the same host, for a server whose MaxSessions is reached on this one.

        Nobody is asked for a password again: without keys or an agent there is one connection.
        """
        if self._overflow is None:
            settings = replace(self.settings, waits_for_host=True)
            self._overflow = SshHost(
                self.address, settings, accepted=self._accepted, logins=self._logins, jumps=self._jumps
            )
            self._overflow._before, self._overflow._trail = self._before, self._trail
        try:
            await self._overflow.connect()
        except SourceRefused:
            raise full from None
        return self._overflow

    async def close(self) -> None:
        """Close the connection and every channel on it."""
        if self._dialling is not None and not self._dialling.done():
            self._dialling.cancel()
            await asyncio.wait([self._dialling])
        await self._hang_up()
        if self._overflow is not None:
            await self._overflow.close()
        taken, self._taken = self._taken, []
        for key in reversed(taken):
            await self._jumps.give_back(key)

    @asynccontextmanager
    async def _converted(self, limit: asyncio.Timeout) -> AsyncIterator[None]:
        try:
            yield
        except asyncio.CancelledError:
            if limit.expired():
                raise SourceLost(f"{self.name}: no answer in time") from None
            raise
        except asyncssh.ChannelOpenError as error:
            raise _NoMoreSessions(str(channel_error(error, self.name))) from error
        except (asyncssh.Error, OSError) as error:
            raise channel_error(error, self.name) from error

    async def _dial_again(self) -> asyncssh.SSHClientConnection:
        await self._hang_up()
        prompt: Prompt | None = None
        while True:
            self._unknown = None
            try:
                self._connection = await self._dial(prompt)
                break
            except _JumpRefused:
                raise  # whoever could be asked was asked by the jump host itself
            except SourceRefused as refusal:
                await self._hang_up()
                if self._unknown is not None and await self._is_accepted(self._unknown):
                    continue
                # Only a host that wants more than keys and the agent is worth a question.
                if self._prompt is None or prompt is not None or not wants_answer(refusal.__cause__):
                    raise
                prompt = self._prompt
            except BaseException:
                await self._hang_up()
                raise
        self._was_reached = True
        return self._connection

    async def _is_accepted(self, unknown: UnknownKey) -> bool:
        """Ask about a key that is not on record; only one of two words lets it pass."""
        if self._prompt is None:
            return False
        answer = (await self._prompt(Question(self.name, "host key", unknown.question, is_echoed=True)) or "").strip()
        if answer not in (ONCE, REMEMBER):
            return False
        if answer == REMEMBER:
            remember(unknown)
        self._accepted[key_name(unknown.host, unknown.port)] = unknown.key
        return True

    async def _dial(self, prompt: Prompt | None) -> asyncssh.SSHClientConnection:
        """Connect to the host, through its jump hosts if the configuration names any.

        asyncssh can do the jumps by itself, but then without our timeouts, keepalives and key check on each hop, and
        once for each host behind them.
        """
        settings, name = self.settings, self.address.name
        user = self.address.user or settings.user
        knowledge = KeyKnowledge(accepted_keys=self._accepted)
        client: LoginClient | None = None
        proxy: ProxyCommand | None = None
        where = {"port": settings.port or (), "username": user or (), "config": self._config()}
        try:
            # Read once without touching any key, to learn the jump hosts and the known_hosts files.
            told = await asyncssh.SSHClientConnectionOptions.construct(
                host=name, client_keys=None, agent_path=None, **where
            )
            jumps = settings.jump_host or jump_line(told, name)
            jump = self._before or await self._jump_host(jumps, told.port)
            command = None if jump or jumps else proxy_command(told, name, user)
            self._last_jump = jump
            tunnel = None if jump is None else await self._through(jump)
            patience_s = _PROMPT_LIMIT_S if prompt else 0.0
            trusted = trusted_keys(settings.known_hosts or told.known_hosts, knowledge, told, name)

            async def log_in(asked: LoginClient) -> asyncssh.SSHClientConnection:
                files = [str(path) for path in settings.client_keys]
                async with offered_keys(told, files, settings.use_agent) as keys:
                    return await asyncssh.connect(
                        name,
                        tunnel=tunnel,
                        sock=None if proxy is None else proxy.socket,
                        proxy_command=None if told.proxy_command else (),  # ours has been run, or is no command
                        known_hosts=trusted,
                        client_factory=lambda: asked,
                        passphrase=ask_passphrase(name, prompt),
                        connect_timeout=settings.connect_timeout_s + patience_s,
                        login_timeout=settings.login_timeout_s + patience_s,
                        keepalive_interval=settings.keepalive_s,
                        keepalive_count_max=settings.keepalive_count,
                        **keys,
                        **where,
                    )

            attempt = 0
            while True:
                attempt += 1
                client = LoginClient(name, knowledge, prompt)
                try:
                    async with self._logins.turn(told.host, told.port):
                        if command:
                            proxy = await ProxyCommand.start(command)
                            self._proxies.append(proxy)
                        connection = await log_in(client)
                    break
                except (asyncssh.Error, OSError) as error:
                    if proxy is not None and await proxy.is_missing():
                        raise
                    if not await self._logins.pause(attempt, error, was_greeted=client.was_greeted):
                        raise
        except TypeError as error:
            if prompt is None:
                raise
            # asyncssh 2.24.1 hands the asking function itself to the decryption when no .pub file lies beside the key.
            raise SourceRefused(
                f"{self.name}: a key is encrypted and has no .pub file beside it. Add the key to the agent with "
                f"`ssh-add`, then try again."
            ) from error
        except (asyncssh.Error, OSError, ValueError) as error:
            was_greeted = client is None or client.was_greeted
            failure = connect_error(
                error,
                self.name,
                by_hand=hand_command(
                    name if user is None else f"{user}@{name}",
                    settings.config_file,
                    port=settings.port,
                    known_hosts=settings.known_hosts,
                    keys=settings.client_keys,
                    jump_host=settings.jump_host,
                ),
                seen_key=knowledge.seen,
                has_record=knowledge.has_record,
                was_reached=self._was_reached,
                was_greeted=was_greeted,
                proxy_said=None if proxy is None or was_greeted else await proxy.last_words(),
            )
            failure.__cause__ = error
            if isinstance(error, asyncssh.HostKeyNotVerifiable):
                self._unknown = knowledge.unknown_key(self._label)
            if isinstance(failure, SourceRefused) and settings.read_config:
                failure = await explained(failure, name, settings.config_file)
            raise failure from failure.__cause__
        return connection

    async def _jump_host(self, words: str, port: int) -> SshHost | None:
        """The last of the jump hosts of a ProxyJump line, which reaches the ones before by itself."""
        trail = ((self.address.name, port), *self._trail)
        taken: list[tuple[str, ...]] = []
        last: SshHost | None = None
        for word in filter(None, words.split(",")):
            jump = _parse_hop(word)
            if any(jump.address.name == name and jump.port in (None, door) for name, door in trail):
                break  # "Host *" names a jump host for the jump host itself
            key = (*(taken[-1] if taken else ()), word)
            last = self._jumps.take(key, partial(self._make_jump, jump, last, trail))
            taken.append(key)
        before, self._taken = self._taken, taken
        for key in reversed(before):  # not earlier: the same ones are taken again, as a rule
            await self._jumps.give_back(key)
        return last

    def _make_jump(self, jump: _Hop, before: SshHost | None, trail: tuple[tuple[str, int], ...]) -> SshHost:
        settings = replace(self.settings, port=jump.port, user=None, jump_host=None)
        host = SshHost(
            jump.address, settings, prompt=self._prompt, accepted=self._accepted, logins=self._logins, jumps=self._jumps
        )
        host._before, host._trail = before, trail
        host._label = f"jump host {jump.address.name}"
        return host

    async def _through(self, jump: SshHost) -> asyncssh.SSHClientConnection:
        """The connection to the last jump host; its faults are told as ours."""
        try:
            return await jump.connect()
        except (SourceLost, SourceRefused) as error:
            fault = str(error).removeprefix(f"{jump.name}: ")
            if not fault.startswith("jump host "):
                fault = f"{jump._label}: {fault}"
            kind = _JumpRefused if isinstance(error, SourceRefused) else SourceLost
            raise kind(f"{self.name}: {fault}") from error.__cause__

    def _config(self) -> Sequence[str] | tuple[()] | None:
        if not self.settings.read_config:
            return None
        return () if self.settings.config_file is None else [str(self.settings.config_file)]

    async def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            # Not a polite close: on a frozen link that waits for an answer that never comes.
            connection.abort()
            await connection.wait_closed()
        proxies, self._proxies = self._proxies, []
        for proxy in proxies:
            await proxy.close()


@dataclass(frozen=True, slots=True)
class _Hop:
    address: HostAddress
    port: int | None


def jump_line(told: asyncssh.SSHClientConnectionOptions, name: str) -> str:
    """The jump hosts of the configuration, empty for none; of ProxyJump and ProxyCommand the first counts."""
    ways = [option for option in told.config.get_options(False) if option in ("ProxyJump", "ProxyCommand")]
    if not isinstance(told.tunnel, str) or ways[:1] == ["ProxyCommand"]:
        return ""
    return expanded(told.tunnel, told, name)


def proxy_command(told: asyncssh.SSHClientConnectionOptions, name: str, user: str | None) -> str | None:
    """The ProxyCommand for a host, with its tokens expanded. ValueError for a host or user that a shell would obey."""
    text = told.config.get("ProxyCommand")
    command = text.lstrip(" \t=") if isinstance(text, str) else ""  # asyncssh keeps the = of `ProxyCommand=…`
    if command.lower() in ("", "none"):
        return None
    for word in (name, user or ""):
        if not is_safe_word(word):
            raise ValueError(f"{word!r} would be obeyed by the shell that runs ProxyCommand")
    return command


def _parse_hop(text: str) -> _Hop:
    """Read one `[user@]host[:port]` of a ProxyJump line, which may be written as an address with ssh:// before it."""
    user, at, host = text.strip().removeprefix("ssh://").rstrip("/").rpartition("@")
    name, colon, port = host.rpartition(":")
    is_bracketed = name.startswith("[") and name.endswith("]")
    if not (colon and port.isdecimal()) or (name.count(":") and not is_bracketed):
        name, port = host, ""
    name = name.removeprefix("[").removesuffix("]")
    return _Hop(HostAddress(name, user if at else None), int(port) if port else None)


def _take_error(task: asyncio.Task[asyncssh.SSHClientConnection]) -> None:
    # An attempt whose askers have all gone would else be reported as an error that nobody looked at.
    if not task.cancelled():
        task.exception()
