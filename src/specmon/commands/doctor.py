"""`specmon doctor`: what stands between us and a host's figures, and the mend for each."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

import click

from specmon.commands.checkup import Check, check_host
from specmon.commands.loop import run_whole
from specmon.commands.page_access import PageOptions, page_access
from specmon.commands.places import Hosts, SshOptions
from specmon.commands.survey import THIS_MACHINE, machine_of
from specmon.visible import visible

EXIT_FAULT = 1
_SIGNS = {"ok": "ok", "note": "note", "fault": "FAULT"}


def doctor(*, hosts: Sequence[str], form: str, ssh: SshOptions, pages: PageOptions) -> int:
    """Check each host; 1 when something is wrong."""
    access = page_access(pages, first_host=hosts[0] if hosts else THIS_MACHINE, environ=os.environ)

    async def run() -> dict[str, list[Check]]:
        results: dict[str, list[Check]] = {}
        async with Hosts(ssh) as open_hosts:
            for word in dict.fromkeys(hosts or (THIS_MACHINE,)):
                machine = machine_of(word, open_hosts)
                checks = results.setdefault(machine.name, [])
                if form == "text":
                    click.echo(visible(machine.name))
                async for check in check_host(machine, access):
                    checks.append(check)
                    if form == "text":
                        print_check(check)
        return results

    results = run_whole(run())
    faults = sum(check.state == "fault" for checks in results.values() for check in checks)
    if form == "json":
        click.echo(
            json.dumps(
                {
                    "schema_version": 1,
                    "ok": not faults,
                    "hosts": [
                        {
                            "host": name,
                            "checks": [
                                {
                                    "check": check.name,
                                    "state": check.state,
                                    "text": check.text,
                                    "mend": check.mend or None,
                                    "pid": check.pid,
                                }
                                for check in checks
                            ],
                        }
                        for name, checks in results.items()
                    ],
                },
                indent=2,
            )
        )
    return EXIT_FAULT if faults else 0


def print_check(check: Check) -> None:
    """A line for the check, and one for the mend."""
    click.echo(f"  {_SIGNS[check.state]:<6}{check.name:<12}{visible(check.text)}")
    if check.mend:
        click.echo(f"  {'':<18}→ {visible(check.mend)}")
