"""What `nvidia-smi --query-gpu` says of a machine's GPUs, as a table of conditions."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from specmon.sources.machine import Machine
from specmon.sources.remote_commands import GPU_LIMIT_S, ReadGpus

GpuTable: TypeAlias = dict[str, str | int | float | list[str] | list[int] | list[float]]

# nvidia-smi's field, our name with its unit, and how the text is read.
_NAMES = {
    "name": ("names", str),
    "memory.total": ("memory_mib", int),
    "power.limit": ("power_limit_w", float),
    "clocks.max.sm": ("sm_clock_max_mhz", int),
    "clocks.max.memory": ("memory_clock_max_mhz", int),
    "clocks.applications.graphics": ("sm_clock_set_mhz", int),
    "clocks.applications.memory": ("memory_clock_set_mhz", int),
    "ecc.mode.current": ("ecc", str),
    "mig.mode.current": ("mig", str),
    "pcie.link.gen.max": ("pcie_gen_max", int),
    "pcie.link.width.current": ("pcie_lanes", int),
}


@dataclass(frozen=True, slots=True)
class Gpus:
    """All GPUs of a machine: one mapping each, from nvidia-smi's field to its text."""

    each: tuple[Mapping[str, str], ...] = ()
    reason: str = ""  # why there are none
    fields: tuple[str, ...] = field(default=())

    @property
    def driver(self) -> str | None:
        """Version of the driver."""
        return next((gpu["driver_version"] for gpu in self.each if _is_known(gpu.get("driver_version", ""))), None)

    def table(self, visible: str | None) -> GpuTable | None:
        """The conditions of those GPUs that a process sees (its CUDA_VISIBLE_DEVICES); None without any.

        What all of them share is told once, else there is one entry a GPU. A field that the GPU does not have
        ("[N/A]") is left out.
        """
        if not self.each:
            return None
        chosen = _visible(self.each, visible)
        seen = chosen or self.each
        table: GpuTable = {"count": len(seen)}
        for source, (name, kind) in _NAMES.items():
            texts = [gpu.get(source, "") for gpu in seen]
            if not texts or not all(_is_known(text) for text in texts):
                continue
            try:
                values = [kind(text) for text in texts]
            except ValueError:
                continue
            table[name] = values[0] if len(set(values)) == 1 else values
        uuids = [gpu.get("uuid", "") for gpu in seen]
        # Of a slice, or of names that nvidia-smi does not list, nobody knows which device it is.
        is_certain = chosen and not any(gpu.get("mig.mode.current") == "Enabled" for gpu in seen)
        if is_certain and all(_is_known(uuid) for uuid in uuids):
            table["uuids"] = uuids
        return table


async def read_gpus(machine: Machine) -> Gpus:
    """Ask a machine. SourceLost or SourceRefused when it does not answer."""
    return parse_gpus((await machine.run(ReadGpus().text(), timeout_s=3.0 * GPU_LIMIT_S)).stdout)


def parse_gpus(answer: bytes) -> Gpus:
    """Read the answer to a `ReadGpus`."""
    facts: dict[bytes, bytes] = {}
    for line in answer.splitlines():
        word, _, rest = line.partition(b" ")
        facts[word] = rest
    if b"none" in facts:
        return Gpus(reason="there is no nvidia-smi")
    try:
        text = bytes.fromhex(facts[b"answer"].replace(b" ", b"").decode("ascii")).decode("utf-8", "replace")
        status = int(facts[b"status"])
    except (KeyError, ValueError):
        return Gpus(reason="the answer about GPUs cannot be read")
    if status == 124:
        return Gpus(reason=f"nvidia-smi gave no answer in {GPU_LIMIT_S} s")
    fields = facts.get(b"fields", b"").decode("ascii", "replace").split(",")
    rows = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines()) if row]
    each = tuple(dict(zip(fields, row, strict=True)) for row in rows if len(row) == len(fields))
    if status != 0 or not each:
        said = " ".join(text.split())[:120] or f"status {status}"
        return Gpus(reason=f"nvidia-smi says: {said}")
    return Gpus(each, fields=tuple(fields))


def gpus_answer(gpus: Gpus) -> bytes:
    """The answer to a `ReadGpus` that says these: what the demo's server sends."""
    if not gpus.each:
        return b"none\n"
    rows = "\n".join(", ".join(gpu.get(name, "[N/A]") for name in gpus.fields) for gpu in gpus.each)
    return f"status 0\nfields {','.join(gpus.fields)}\nanswer {rows.encode().hex()}\n".encode()


def _visible(each: Sequence[Mapping[str, str]], visible: str | None) -> Sequence[Mapping[str, str]]:
    """The GPUs that CUDA_VISIBLE_DEVICES leaves, by index or by the beginning of the UUID; none without a known one."""
    if visible is None:
        return each
    chosen = []
    for word in filter(None, (word.strip() for word in visible.split(","))):
        found = [gpu for gpu in each if gpu.get("index") == word or gpu.get("uuid", "").startswith(word)]
        if len(found) != 1:  # CUDA stops at the first one that it does not know; MIG slices are not in the list
            break
        chosen += found
    return chosen


def _is_known(text: str) -> bool:
    return bool(text) and not text.startswith("[") and text != "N/A"
