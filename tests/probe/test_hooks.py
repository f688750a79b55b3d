"""The hooks: what is a cycle and what is not, when nothing may be touched, and what happens when things go wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from specmon_probe.device import Device, NoDevice
from specmon_probe.hooks import Probe
from specmon_probe.layouts import DRAFT, DRAFT_EXTEND, VERIFY
from tests.probe.device import FakeGpu


@dataclass
class Mode:
    name: str

    def is_decode(self) -> bool:
        return self.name == "decode"

    def is_target_verify(self) -> bool:
        return self.name == "target_verify"


def batch(mode: str = "decode", requests: str = "a", *, is_extend_in_batch: bool = False) -> SimpleNamespace:
    reqs = [SimpleNamespace(rid=rid) for rid in requests]
    return SimpleNamespace(reqs=reqs, forward_mode=Mode(mode), is_extend_in_batch=is_extend_in_batch)


@dataclass
class Server:
    """A scheduler with an EAGLE worker of the overlap schedule, hooked to a probe."""

    algorithm: str | None = "EAGLE3"
    tp_rank: int = 0
    warm_up: int = 0
    every: int = 1
    gpu: FakeGpu = field(default_factory=FakeGpu)
    host_s: float = 0.0
    told: list[str] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)
    no_device: bool = False

    def __post_init__(self) -> None:
        self.probe = Probe(
            device=self._device,
            now_s=lambda: self.host_s,
            tell=self.told.append,
            warn=self.warned.append,
            warm_up=self.warm_up,
            every=self.every,
        )
        args = SimpleNamespace(speculative_algorithm=self.algorithm, decode_log_interval=4, pp_size=1)
        self.scheduler = SimpleNamespace(server_args=args, attn_tp_rank=self.tp_rank)
        self._draft = self._hooked(self.probe.phase(DRAFT), lambda *_: self.gpu.work(0.5))
        self._verify = self._hooked(self.probe.phase(VERIFY), self._verifies)
        self._extend = self._hooked(self.probe.phase(DRAFT_EXTEND), lambda *_: self.gpu.work(0.5))
        self._target = self._hooked(self.probe.target(), lambda *_, **__: self.gpu.work(6.0))
        self._entry = self._hooked(self.probe.entry(own_verify=True), self._forward)
        self._processed = self._hooked(self.probe.processed(), lambda *_: None)

    def _device(self) -> Device:
        if self.no_device:
            raise NoDevice("torch has no CUDA device here")
        return Device(self.gpu.new_event, self.gpu.capturing)

    def _hooked(self, around: Callable[..., object], method: Callable[..., object]) -> Callable[..., object]:
        return lambda *args, **kwargs: around(method, *args, **kwargs)

    def _verifies(self, worker: object, of: object) -> None:
        self._target(SimpleNamespace(is_draft_worker=False), of, is_verify=True)

    def _forward(self, worker: object, of: SimpleNamespace) -> object:
        self.gpu.work(1.0)
        if of.forward_mode.is_decode() and not of.is_extend_in_batch:
            self._draft(worker, of)
            self._verify(worker, of)
            self._extend(worker, of)
        else:
            self.gpu.work(80.0)
        return SimpleNamespace(accept_lens=object(), num_correct_drafts=0)

    def settle(self) -> None:
        """The scheduler handles its first result: here the probe learns where it is."""
        self._processed(self.scheduler, batch("extend"), SimpleNamespace())

    def step(self, of: SimpleNamespace | None = None, *, accepted: int | None = 1) -> None:
        of = of or batch()
        self.host_s += 0.008
        result = self._entry(self, of)
        if accepted is not None:
            assert isinstance(result, SimpleNamespace)
            result.num_correct_drafts = accepted
            self._processed(self.scheduler, of, result)

    def decode_step(self, of: SimpleNamespace | None = None, *, is_draft_worker: bool = False, **more: object) -> None:
        self.host_s += 0.008
        self.gpu.work(1.0)
        self._target(SimpleNamespace(is_draft_worker=is_draft_worker), of or batch(), **more)

    @property
    def lines(self) -> list[str]:
        return [line for line in self.told if line.startswith("specmon-phase")]


@pytest.fixture
def server() -> Server:
    return Server()


def test_nothing_is_recorded_before_the_scheduler_has_handled_a_result(server: Server) -> None:
    for _ in range(20):
        server.step(accepted=None)
    assert server.gpu.made == 0
    server.settle()
    for _ in range(10):
        server.step()
    assert server.lines[0] == (
        "specmon-phase v1 cycles=4 running=1 draft_ms=0.500 verify_ms=6.000 draft_extend_ms=0.500 "
        "cycle_ms=8.000 accept_len=2.00"
    )


@pytest.mark.parametrize("algorithm", ["EAGLE3", None])
def test_cycles_that_are_not_timed_record_one_event_at_most(algorithm: str | None) -> None:
    server = Server(algorithm=algorithm, every=3)
    server.settle()
    step = server.decode_step if algorithm is None else server.step
    recorded = []
    for _ in range(9):
        before = server.gpu.recorded
        step()
        recorded.append(server.gpu.recorded - before)
    # the start, and the two ends of each phase; then the start that ends the cycle; then nothing
    assert recorded == [3 if algorithm is None else 7, 1, 0] * 3
    for _ in range(30):
        step()
    assert server.lines
    assert {line.split("cycle_ms=")[1].split()[0] for line in server.lines} == {
        "7.000" if algorithm is None else "8.000"
    }


def test_target_forward_of_a_cycle_that_is_not_timed_is_no_cycle_of_its_own() -> None:
    server = Server(every=3)
    server.settle()
    for _ in range(60):
        server.step()
    assert server.lines
    assert all("draft_ms" in line and "verify_is" not in line for line in server.lines)


def test_no_event_goes_into_a_graph_that_is_being_captured(server: Server) -> None:
    server.settle()
    server.gpu.is_capturing = True
    for _ in range(20):
        server.step()
    server.gpu.is_capturing = False
    assert server.gpu.recorded_in_capture == 0
    assert server.warned == []
    for _ in range(10):
        server.step()
    assert len(server.lines) == 1


@pytest.mark.parametrize(
    "other",
    [
        batch("extend"),
        batch("mixed"),
        batch("idle", ""),
        batch("decode", is_extend_in_batch=True),
    ],
    ids=["prefill", "mixed", "idle", "prefill on another rank"],
)
def test_what_is_no_decode_cycle_breaks_the_chain(server: Server, other: SimpleNamespace) -> None:
    server.settle()
    for _ in range(12):
        for _ in range(3):
            server.step()
        server.step(other, accepted=None)
    assert server.lines
    assert {line.split("cycle_ms=")[1].split()[0] for line in server.lines} == {"8.000"}


def test_other_ranks_say_and_record_nothing() -> None:
    server = Server(tp_rank=3)
    server.settle()
    for _ in range(20):
        server.step()
    assert (server.told, server.warned, server.gpu.made) == ([], [], 0)


def test_a_baseline_s_step_is_a_cycle_with_one_phase() -> None:
    server = Server(algorithm=None)
    server.settle()
    for _ in range(10):
        server.decode_step()
    assert server.lines[0] == "specmon-phase v1 cycles=4 running=1 decode_ms=6.000 cycle_ms=7.000"


def test_a_draft_model_s_own_steps_are_not_the_target_s() -> None:
    server = Server(algorithm="TOMORROW")
    server.settle()
    for _ in range(10):
        server.decode_step(is_draft_worker=True)
        server.decode_step(is_verify=True)
    assert server.lines[0] == (
        "specmon-phase v1 cycles=4 running=1 verify_ms=6.000 cycle_ms=14.000 verify_is=target_forward"
    )


def test_without_a_device_one_line_is_said_and_the_server_goes_on() -> None:
    server = Server(no_device=True)
    for _ in range(3):
        server.settle()
    for _ in range(10):
        server.step()
    assert server.warned == [
        "specmon-probe steps aside: NoDevice: torch has no CUDA device here. The server is not affected; no phase "
        "lines follow."
    ]
    assert server.told == []


@pytest.mark.parametrize("events", range(12))
def test_a_device_error_at_any_moment_of_a_cycle_is_swallowed(events: int) -> None:
    server = Server()
    server.settle()
    server.gpu.breaks_after = events
    before = server.gpu.queued_ms
    for _ in range(30):
        server.step()
    assert server.gpu.queued_ms == before + 30 * 8.0  # every original ran, once
    assert len(server.warned) == 1
    assert "RuntimeError: CUDA error: out of events" in server.warned[0]
    assert server.probe._open is None


def test_what_cannot_be_logged_does_not_reach_the_server() -> None:
    def broken(line: str) -> None:
        raise OSError("disk full")

    gpu = FakeGpu()
    probe = Probe(device=lambda: Device(gpu.new_event, gpu.capturing), tell=broken, warn=broken, warm_up=0)
    args = SimpleNamespace(speculative_algorithm=None, decode_log_interval=4)
    handle = probe.processed()
    assert handle(lambda *_: "kept", SimpleNamespace(server_args=args, attn_tp_rank=0), batch(), None) == "kept"
    assert not probe.is_on


def test_the_server_s_own_exception_passes_and_leaves_no_cycle_open(server: Server) -> None:
    server.settle()
    error = MemoryError("CUDA out of memory")

    def fails(*_: object) -> None:
        raise error

    around = server.probe.entry(own_verify=True)
    with pytest.raises(MemoryError) as raised:
        around(fails, server, batch())
    assert raised.value is error
    assert server.probe._open is None
    assert server.warned == []
    for _ in range(10):
        server.step()
    assert len(server.lines) == 1


def test_results_are_returned_untouched(server: Server) -> None:
    server.settle()
    result = SimpleNamespace(accept_lens=None, num_correct_drafts=2)
    assert server.probe.entry(own_verify=True)(lambda *_: result, server, batch()) is result
    assert server.probe.target()(lambda *_: 7, SimpleNamespace(), batch("extend")) == 7
    assert server.probe.phase(DRAFT)(lambda *_: 7, server) == 7


def test_a_result_that_takes_no_attribute_is_a_surprise(server: Server) -> None:
    class Sealed:
        __slots__ = ("accept_lens",)

        def __init__(self) -> None:
            self.accept_lens = object()

    server.settle()
    assert isinstance(server.probe.entry(own_verify=True)(lambda *_: Sealed(), server, batch()), Sealed)
    assert len(server.warned) == 1


def test_accept_length_is_of_the_cycles_of_its_line_however_late_it_comes(server: Server) -> None:
    server.settle()
    waiting: list[tuple[SimpleNamespace, SimpleNamespace, int]] = []
    for index in range(24):
        of = batch(requests="a" if index < 12 else "ab")
        result = server._entry(server, of)
        assert isinstance(result, SimpleNamespace)
        waiting.append((of, result, 0 if index < 12 else 6))
        if len(waiting) > 2:
            late, handled, accepted = waiting.pop(0)
            handled.num_correct_drafts = accepted
            server._processed(server.scheduler, late, handled)
    told = {line.split("running=")[1][0]: line.rsplit("accept_len=", 1)[1] for line in server.lines}
    assert told == {"1": "1.00", "2": "4.00"}
