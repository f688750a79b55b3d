"""Notices about a log as a whole: what it is, what of it could be read, and what could not."""

from __future__ import annotations

from specmon.monitor.notice import Notice
from specmon.monitor.server import ServerMonitor
from specmon.monitor.snapshot import Role
from specmon.monitor.writers import RETURNS

_MANY_UNPARSED = 0.05
_CLASHES_TOLD = 4


def of_stream(server: ServerMonitor, *, is_finished: bool) -> list[Notice]:
    """Whatever does not depend on the life that is looked at."""
    found = []
    if is_finished and server.engine is None and not server.has_text:
        state = "holds nothing but blank lines" if server.lines else "is empty"
        found.append(
            Notice(
                "not_a_server_log",
                f"{server.source} {state}: no server has written to it. Check the path, and start the server with "
                "`> LOG 2>&1`, so that its statistics lines go there.",
            )
        )
    elif is_finished and server.engine is None:
        found.append(
            Notice(
                "not_a_server_log",
                f"No line of {server.source} is an LLM server's. Give the file that holds the server's stderr; the "
                "lines of a server that specmon does not know can be described in a format file (--format-file).",
            )
        )
    if server.is_undated:
        found.append(
            Notice(
                "no_date",
                "The stamps of this log carry no full date, so no times are given; figures do not need them. For dates "
                "let a carrier stamp the lines, as `docker logs -t` or `journalctl -o short-iso` do.",
            )
        )
    if server.gaps:
        found.append(
            Notice(
                "gap",
                f"Bytes of the log are missing, so what they said is not counted: "
                f"{server.gaps[-1].rstrip('.')}. Read the log from its file once more to have them counted.",
            )
        )
    found += _of_formats(server)
    if server.hidden:
        found.append(
            Notice(
                "blob_data",
                f"journalctl hid {server.hidden} lines behind their size ([… blob data]), as it does with control "
                "characters. Call it with -a: `journalctl -a -u UNIT`.",
            )
        )
    if server.clipped:
        found.append(
            Notice(
                "cut_columns",
                f"{server.clipped} statistics lines have columns cut out, as a narrow terminal does: "
                "figures that were cut are unknown. Read the log from the file, not from a terminal.",
            )
        )
    if server.outside:
        found.append(
            Notice(
                "outside_window",
                f"{server.outside} samples lie outside the times asked for and enter no figure. "
                "Widen --since and --until to have them counted.",
            )
        )
    found += _of_writers(server)
    if server.runs > 1:
        found.append(
            Notice(
                "restart",
                f"The log holds {server.runs} lives of the server. The figures are those of "
                f"{'the last one' if server.run is None else f'number {server.run}'}; "
                "nothing of the others enters them. `--run N` gives those of another.",
            )
        )
    if server.history.lives.clock_steps:
        found.append(
            Notice(
                "clock_backwards",
                "The times of the statistics lines run backwards by more than a minute: what follows is taken as "
                "another life of the server. Check the host's clock, or whether two logs were joined.",
            )
        )
    declared, logged = server.declared, server.logged_role
    is_contrary = declared is not None and logged is not Role.UNKNOWN and logged is not declared
    if is_contrary and not server.is_split:
        found.append(
            Notice(
                "role_conflict",
                f"You name this the {declared} server, but its log is that of a {logged} one. "
                "Check which log belongs to which option.",
            )
        )
    return found


def _of_writers(server: ServerMonitor) -> list[Notice]:
    """Several servers that write into one log without labels."""
    if server.engine_returns >= RETURNS:
        names = " and ".join(server.engines)
        return [
            Notice(
                "mixed_servers",
                f"The lines of {names} alternate in this log ({server.engine_returns} times back), so several servers "
                "write into it at once: each change counts as another run, the figures those of the last piece. "
                "Give each server a log of its own (`> A.log 2>&1`), or split this one with grep by what their lines "
                "begin with.",
            )
        ]
    if server.life is not None and (found := server.life.writers.by_turns) is not None:
        tag, pids = found
        listed = ", ".join(str(pid) for pid in pids[:8])
        split = f"`grep 'pid={pids[0]})' LOG > A.log`" if server.engine == "vllm" else f"`grep {pids[0]} LOG > A.log`"
        return [
            Notice(
                "mixed_servers",
                f"Processes {listed} write the statistics lines{f' of {tag}' if tag else ''} by turns. They count as "
                "one server here, which is right for API servers or ranks of one deployment. If they are several "
                f"servers, split the log by process ({split}), and give each server a log of its own.",
            )
        ]
    return []


def _of_formats(server: ServerMonitor) -> list[Notice]:
    """What specmon itself could not read, or could have read in another way."""
    found = []
    looked_at = server.samples + server.unparsed
    if server.unparsed > _MANY_UNPARSED * looked_at and not server.clipped:
        found.append(
            Notice(
                "unparsed",
                f"{server.unparsed} of {looked_at} statistics lines lack a figure that they need, so they are not "
                "counted. `specmon formats explain LOG` shows them.",
            )
        )
    for reads, other in server.history.clashes[:_CLASHES_TOLD]:
        found.append(
            Notice(
                "formats_clash",
                f"The formats {reads} and {other} both read lines of this log; the log goes to whose lines it has more "
                f"of, now {server.engine or reads}. Make a pattern of the custom format narrower, or remove its file.",
            )
        )
    if server.history.dialect_failure is not None:
        engine, reason = server.history.dialect_failure
        found.append(
            Notice(
                "dialect_failed",
                f"The dialect {engine}, which another package brings, failed ({reason}), so the log is not read from "
                "there on. Update that package, or remove it.",
            )
        )
    return found
