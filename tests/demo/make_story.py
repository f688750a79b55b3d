"""Write the captures of the story that specmon was built for.

Run `python tests/demo/make_story.py fixtures` to write them again: `story`, the whole of it, and `story-5-steps`, its
turning point with the lines of specmon's probe, which tell where the time of a cycle went. A test holds the committed
files against this script. The figures are those of the true story (8 GPUs over PCIe, TP 8, EAGLE-3): a baseline
of 88.8 tok/s that falls to 62.9 when a restart loses six NCCL variables, speculation with 5 steps at
71 tok/s (accept length 2.12) and with 2 steps at 75.9 tok/s (accept length 2.10). Lines have the form of
SGLang 0.5.9; start-ups after the first are shortened to seconds so that the whole takes 90 s.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

START = datetime(2026, 2, 26, 16, 40, 0, tzinfo=UTC).timestamp()
END_S = 92.0
INTERVAL = 40  # cycles a statistics line
REQUEST_TOKENS = 1024

NCCL_BY_HAND = {
    "NCCL_PROTO": "LL",
    "NCCL_ALGO": "Ring",
    "NCCL_P2P_LEVEL": "SYS",
    "NCCL_MAX_NCHANNELS": "16",
    "NCCL_BUFFSIZE": "16777216",
    "NCCL_NTHREADS": "512",
}
SET_BY_SGLANG = {
    "CUDA_DEVICE_MAX_CONNECTIONS": "8",
    "CUDA_MODULE_LOADING": "AUTO",
    "NCCL_CUMEM_ENABLE": "0",
    "NCCL_NVLS_ENABLE": "0",
    "SGLANG_ENABLE_SPEC_V2": "1",  # both servers schedule with overlap
}
MODEL = "/shared/kimi-k2.5-int4"
DRAFT = "/shared/kimi-k2.5-eagle3"


@dataclass(frozen=True, slots=True)
class Speculation:
    """An EAGLE-3 setting and the accept length it reaches."""

    num_steps: int
    accept_len: float

    @property
    def num_draft_tokens(self) -> int:
        return self.num_steps + 1


@dataclass(frozen=True, slots=True)
class Life:
    """One life of a server: launched, ready, serving one request after another, stopped."""

    pid: int
    launched: float  # s after START, all of them
    ready: float
    stops: float | None
    tok_s: float
    env: Mapping[str, str]
    speculation: Speculation | None = None
    first_tok_s: tuple[float, ...] = ()  # the first clean samples, as they were measured
    phases_ms: Mapping[str, float] = field(default_factory=dict)  # of a cycle, where the server has the probe
    phases_note: str = " note=made"  # behind each line of the probe; readers pass over what they do not know


@dataclass(slots=True)
class Log:
    """Lines with the moment of each, in s after START."""

    lines: list[tuple[float, str]] = field(default_factory=list)

    def add(self, at: float, text: str, tag: str = "") -> None:
        stamp = datetime.fromtimestamp(START + at, UTC).strftime("%Y-%m-%d %H:%M:%S")
        self.lines.append((at, f"[{stamp}{tag}] {text}"))


def launch_record(port: int, speculation: Speculation | None, seed: int) -> str:
    """The `server_args=` line, in the order of the engine's own."""
    algorithm = None if speculation is None else "EAGLE3"
    values: dict[str, object] = {
        "model_path": MODEL,
        "tokenizer_path": MODEL,
        "tokenizer_mode": "auto",
        "tokenizer_worker_num": 1,
        "skip_tokenizer_init": False,
        "load_format": "auto",
        "trust_remote_code": True,
        "context_length": None,
        "host": "0.0.0.0",
        "port": port,
        "dtype": "auto",
        "quantization": None,
        "kv_cache_dtype": "auto",
        "mem_fraction_static": 0.85,
        "max_running_requests": None if speculation is None else 48,
        "max_total_tokens": None,
        "chunked_prefill_size": 8192,
        "max_prefill_tokens": 16384,
        "schedule_policy": "fcfs",
        "device": "cuda",
        "tp_size": 8,
        "pp_size": 1,
        "stream_interval": 1,
        "random_seed": seed,
        "log_level": "info",
        "log_requests": False,
        "decode_log_interval": INTERVAL,
        "api_key": None,
        "served_model_name": "kimi-k2.5",
        "dp_size": 1,
        "ep_size": 1,
        "enable_dp_attention": False,
        "attention_backend": "flashinfer",
        "sampling_backend": "flashinfer",
        "speculative_algorithm": algorithm,
        "speculative_draft_model_path": None if speculation is None else DRAFT,
        "speculative_num_steps": None if speculation is None else speculation.num_steps,
        "speculative_eagle_topk": None if speculation is None else 1,
        "speculative_num_draft_tokens": None if speculation is None else speculation.num_draft_tokens,
        "speculative_token_map": None,
        "disable_cuda_graph": False,
        "cuda_graph_max_bs": 16,
        "disable_overlap_schedule": False,
        "disable_custom_all_reduce": True,
        "enable_nccl_nvls": False,
        "enable_symm_mem": False,
        "enable_metrics": False,
        "disaggregation_mode": "null",
    }
    return "server_args=ServerArgs(" + ", ".join(f"{key}={value!r}" for key, value in values.items()) + ")"


def start_up(log: Log, life: Life, port: int) -> None:
    """From the launch line to the ready line, spread over the time between them."""
    span = life.ready - life.launched
    speculation = life.speculation

    def at(share: float) -> float:
        return life.launched + span * share

    log.add(at(0), launch_record(port, speculation, seed=life.pid * 7919))
    for rank in range(8):
        log.add(at(0.05), "Init torch distributed begin.", f" TP{rank}")
    for rank in range(8):
        log.add(at(0.10), "Init torch distributed ends. mem usage=0.61 GB", f" TP{rank}")
    log.add(at(0.10), "sglang is using nccl==2.27.3", " TP0")
    for model in range(1 if speculation is None else 2):  # target, then draft
        share = 0.12 + 0.55 * model
        for rank in range(8):
            log.add(at(share), "Load weight begin. avail mem=93.98 GB", f" TP{rank}")
        kind, usage = ("KimiK25ForConditionalGeneration", 71.20) if model == 0 else ("LlamaForCausalLMEagle3", 1.31)
        for rank in range(8):
            log.add(
                at(share + 0.1),
                f"Load weight end. elapsed={span * 0.1:.2f} s, type={kind}, dtype=torch.bfloat16, "
                f"avail mem={93.98 - usage:.2f} GB, mem usage={usage:.2f} GB.",
                f" TP{rank}",
            )
    log.add(at(0.80), "KV Cache is allocated. #tokens: 167936, KV size: 11.29 GB", " TP0")
    log.add(at(0.80), "Memory pool end. avail mem=10.42 GB", " TP0")
    log.add(at(0.82), "Capture cuda graph begin. This can take up to several minutes. avail mem=10.30 GB", " TP0")
    log.add(
        at(0.90),
        f"Capture cuda graph end. Time elapsed: {span * 0.08:.2f} s. mem usage=0.92 GB. avail mem=9.38 GB.",
        " TP0",
    )
    if speculation is not None:
        log.add(
            at(0.90), "Capture draft cuda graph begin. This can take up to several minutes. avail mem=9.38 GB", " TP0"
        )
        log.add(
            at(0.93),
            f"Capture draft cuda graph end. Time elapsed: {span * 0.03:.2f} s. mem usage=0.11 GB. avail mem=9.27 GB.",
            " TP0",
        )
    log.add(
        at(0.94),
        "max_total_num_tokens=167936, chunked_prefill_size=8192, max_prefill_tokens=16384, "
        f"max_running_requests={48 if speculation else 2048}, context_len=262144, available_gpu_mem=9.27 GB",
        " TP0",
    )
    log.add(at(0.95), f"INFO:     Started server process [{life.pid}]")
    log.add(at(0.95), "INFO:     Waiting for application startup.")
    log.add(at(0.96), "INFO:     Application startup complete.")
    log.add(at(0.96), f"INFO:     Uvicorn running on http://0.0.0.0:{port} (Press CTRL+C to quit)")
    log.add(at(0.98), prefill(7), " TP0")
    log.add(at(1), 'INFO:     127.0.0.1:41002 - "POST /generate HTTP/1.1" 200 OK')
    log.add(at(1), "The server is fired up and ready to roll!")


def prefill(new_tokens: int) -> str:
    return (
        f"Prefill batch, #new-seq: 1, #new-token: {new_tokens}, #cached-token: 0, token usage: 0.00, "
        "#running-req: 0, #queue-req: 0, input throughput (token/s): 61.12, cuda graph: False"
    )


def decode(tokens: int, tok_s: float, accept_len: float | None, speculation: Speculation | None) -> str:
    spec = ""
    if speculation is not None and accept_len is not None:
        # 0.5.6 to 0.5.10 print accept length / draft tokens as the rate
        spec = f"accept len: {accept_len:.2f}, accept rate: {accept_len / speculation.num_draft_tokens:.2f}, "
    return (
        f"Decode batch, #running-req: 1, #token: {tokens}, token usage: {tokens / 167936:.2f}, {spec}"
        f"cuda graph: True, gen throughput (token/s): {tok_s:.2f}, #queue-req: 0"
    )


def cycles(life: Life, spread: random.Random) -> Iterator[tuple[float, float]]:
    """Endless (cycle in s, accept length) of the statistics windows, centred on the life's figures.

    Values come in pairs around the centre, so that the median of the cycles and the mean of the accept
    lengths stay where the story has them however many windows a life lasts.
    """
    accept = 1.0 if life.speculation is None else life.speculation.accept_len
    cycle_s = accept / life.tok_s
    for tok_s in life.first_tok_s:
        yield accept / tok_s, accept
    while True:
        group: list[tuple[float, float]] = []
        for _ in range(3):
            cycle_off = abs(spread.gauss(0, 0.004))
            accept_off = 0.0 if life.speculation is None else round(abs(spread.gauss(0, 0.09)) * INTERVAL) / INTERVAL
            group.append((cycle_s * (1 + cycle_off), accept + accept_off))
            group.append((cycle_s * (1 - cycle_off), accept - accept_off))
        spread.shuffle(group)
        yield from group


def timed(life: Life, cycle_s: float, accept: float) -> str:
    """The probe's line of a window. Phases scale with the cycle, so that each keeps its share of it."""
    longer = cycle_s / life_cycle(life)
    phases = " ".join(f"{name}_ms={ms * longer:.3f}" for name, ms in life.phases_ms.items())
    accept_len = "" if life.speculation is None else f" accept_len={accept:.2f}"
    tail = f"cycle_ms={1000 * cycle_s:.3f}{accept_len}{life.phases_note}"
    return f"specmon-phase v1 cycles={INTERVAL} running=1 {phases} {tail}"


def serve(log: Log, life: Life, port: int, spread: random.Random, end_s: float) -> None:
    """One client that sends a request, waits for its 1,024 tokens and sends the next."""
    windows = cycles(life, spread)
    end = end_s if life.stops is None else life.stops
    now = life.ready + 0.9  # the client was waiting for the server
    is_first = True
    while now < end:
        prompt = spread.randrange(180, 420)
        prefill_s = 0.14 + prompt * 0.0002
        log.add(now + prefill_s, prefill(prompt), " TP0")
        tokens, stall_s = prompt, prefill_s + 0.02
        while tokens < prompt + REQUEST_TOKENS:
            cycle_s, accept = next(windows) if stall_s == 0 else (life_cycle(life), life_accept(life))
            window_s = INTERVAL * cycle_s + stall_s
            generated = INTERVAL * accept
            now += window_s
            if now >= end:
                break
            tokens += round(generated)
            # the first window of a life reaches back to the scheduler's start
            speed = generated / (now - life.launched - 2) if is_first else generated / window_s
            log.add(now, decode(tokens, speed, accept if life.speculation else None, life.speculation), " TP0")
            if life.phases_ms and not is_first:  # the probe leaves the first cycles out, and no prefill is in its line
                log.add(now, timed(life, cycle_s, accept), " TP0")
            is_first = False
            stall_s = 0.0
        else:
            log.add(now, f'INFO:     10.0.0.7:5{port % 1000:04d} - "POST /v1/chat/completions HTTP/1.1" 200 OK')
            now += 0.06
            continue
        break


def life_accept(life: Life) -> float:
    return 1.0 if life.speculation is None else life.speculation.accept_len


def life_cycle(life: Life) -> float:
    return life_accept(life) / life.tok_s


def stop(log: Log, life: Life) -> None:
    """What an orderly stop leaves."""
    if life.stops is None:
        return
    log.add(life.stops, "SIGTERM received. signum=15 frame=None. Draining requests and shutting down...")
    log.add(life.stops + 0.4, "INFO:     Shutting down")
    log.add(
        life.stops + 0.5, "Gracefully exiting... Remaining number of requests 0. Remaining requests remaining_rids=[]."
    )
    log.add(life.stops + 0.6, f"INFO:     Finished server process [{life.pid}]")


# Speeds, cycles and accept lengths are those of the real machine, and so is the verify forward of 5 steps. Where else a
# cycle's time went nobody measured: those phases are made for the demo, fit their cycles, and their lines say `made`.
LIVES = {
    "base": (
        30000,
        (
            Life(41207, -560.0, -14.0, 22.0, 88.8, {**NCCL_BY_HAND, **SET_BY_SGLANG}, phases_ms={"decode": 11.07}),
            Life(
                52911,
                24.2,
                33.5,
                None,
                62.9,
                SET_BY_SGLANG,
                first_tok_s=(62.66, 62.97, 62.57),
                phases_ms={"decode": 15.7},
            ),
        ),
    ),
    "spec": (
        30001,
        (
            Life(
                43880,
                -640.0,
                -24.0,
                52.0,
                70.9,
                SET_BY_SGLANG,
                Speculation(5, 2.12),
                phases_ms={"draft": 0.61, "verify": 28.7, "draft_extend": 0.41},
            ),
            Life(
                54026,
                54.1,
                62.0,
                None,
                75.9,
                SET_BY_SGLANG,
                Speculation(2, 2.10),
                phases_ms={"draft": 0.25, "verify": 26.75, "draft_extend": 0.40},
            ),
        ),
    ),
}

# The turning point alone, with the probe in both servers: 28.7 of 29.9 ms are the verify forward.
FIVE_STEPS = {
    "base": (
        30000,
        (Life(52911, -560.0, -14.0, None, 62.9, SET_BY_SGLANG, phases_ms={"decode": 15.7}, phases_note=""),),
    ),
    "spec": (
        30001,
        (
            Life(
                43880,
                -640.0,
                -24.0,
                None,
                71.0,
                SET_BY_SGLANG,
                Speculation(5, 2.12),
                phases_ms={"draft": 0.61, "verify": 28.7, "draft_extend": 0.41},
                phases_note="",
            ),
        ),
    ),
}
FIVE_STEPS_END_S = 32.0

TOLD = (
    (0.0, "A tuned baseline beside speculation with 5 draft steps. Speculation looks slower."),
    (22.5, "The baseline is restarted. Its NCCL variables lived in one shell: they are gone, and no log says so."),
    (36.0, "The baseline is measured again: it is not the one that was recorded, and the environment says why."),
    (52.5, "Speculation is restarted with 2 steps instead of 5."),
    (
        78.0,
        "Against the baseline as it is NOW, 2 steps win; against the reference they lose. Restore the variables first.",
    ),
)


def command(port: int, speculation: Speculation | None) -> list[str]:
    words = ["python3", "-m", "sglang.launch_server", "--model-path", MODEL, "--served-model-name", "kimi-k2.5"]
    words += ["--tp-size", "8", "--trust-remote-code", "--mem-fraction-static", "0.85", "--host", "0.0.0.0"]
    words += ["--port", str(port), "--disable-custom-all-reduce", "--cuda-graph-max-bs", "16"]
    if speculation is not None:
        words += ["--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", DRAFT]
        words += ["--speculative-num-steps", str(speculation.num_steps), "--speculative-eagle-topk", "1"]
        words += ["--speculative-num-draft-tokens", str(speculation.num_draft_tokens)]
    return words


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def fingerprints(port: int, lives: tuple[Life, ...]) -> str:
    parts = []
    for life in lives:
        words = ", ".join(quoted(word) for word in command(port, life.speculation))
        parts.append(f"[[life]]\npid = {life.pid}\nstarted_at = {START + life.launched:.1f}\ncommand = [{words}]\n")
        parts.append("\n[life.env]\n" + "".join(f"{k} = {quoted(v)}\n" for k, v in life.env.items()))
        parts.append('\n[life.versions]\nengine = "0.5.9"\nnccl = "2.27.3"\n')
        parts.append('\n[life.gpu]\ncount = 8\nnames = "NVIDIA RTX PRO 6000"\n\n')
    return "".join(parts)


NOTE = (
    "The story of a lost baseline: figures from a real machine, lines in the form of SGLang 0.5.9, later start-ups "
    "shortened to seconds. Phase times are made for the demo, to fit the cycles; only the verify of 5 steps is "
    "measured."
)
FIVE_STEPS_NOTE = (
    "Speculation with 5 steps beside the baseline as it really was, both with specmon-probe: figures from a real "
    "machine (draft and draft-extend made to fit), lines in the form of SGLang 0.5.9."
)


def manifest(note: str, told: tuple[tuple[float, str], ...] = ()) -> str:
    head = (
        'schema = 1\nspecmon_version = "0.1.0"\norigin = "made"\n'
        f"note = {quoted(note)}\n"
        f'starts_at = {datetime.fromtimestamp(START, UTC).isoformat()}\nclock = "utc"\n'
    )
    servers = "".join(
        f'\n[[server]]\nname = "{name}"\nrole = "{role}"\nhost = "gpu01"\nsource = "/var/log/sglang/{name}.log"\n'
        for name, role in (("base", "baseline"), ("spec", "speculative"))
    )
    return head + servers + "".join(f"\n[[told]]\nat = {at}\ntext = {quoted(text)}\n" for at, text in told)


def reference(name: str, tok_s: float, note: str, env: Mapping[str, str]) -> str:
    return (
        f'schema = 1\nname = "{name}"\nnote = "{note}"\nrecorded_at = 2026-02-20T10:00:00Z\nhost = "gpu01"\n'
        f'engine = "sglang"\nengine_version = "0.5.9"\nmodel = "{MODEL}"\ntolerance = 0.05\n\n'
        f"[[level]]\nrunning = 1\nn = 212\ntok_s = {tok_s}\ncycle_ms = {1000 / tok_s:.2f}\nsigma = 0.006\n"
        "context_tokens = [200, 1500]\n\n[fingerprint.env]\n"
        + "".join(f"{key} = {quoted(value)}\n" for key, value in env.items())
    )


def story() -> dict[str, str]:
    """Every file of the story's capture by its name."""
    return {
        "manifest.toml": manifest(NOTE, TOLD),
        "references/nccl-tuned.toml": reference(
            "nccl-tuned", 88.8, "NCCL tuned by hand for PCIe", {**NCCL_BY_HAND, **SET_BY_SGLANG}
        ),
        "references/untuned.toml": reference("untuned", 62.9, "NCCL as it comes", SET_BY_SGLANG),
        **servers("story", LIVES, END_S),
    }


def five_steps() -> dict[str, str]:
    """Every file of the capture with phase lines."""
    return {"manifest.toml": manifest(FIVE_STEPS_NOTE), **servers("story-5-steps", FIVE_STEPS, FIVE_STEPS_END_S)}


def servers(seed: str, lives_of: Mapping[str, tuple[int, tuple[Life, ...]]], end_s: float) -> dict[str, str]:
    """Log, arrivals and conditions of each server."""
    files: dict[str, str] = {}
    for name, (port, lives) in lives_of.items():
        log = Log()
        spread = random.Random(f"{seed}-{name}-0")
        for life in lives:
            start_up(log, life, port)
            serve(log, life, port, spread, end_s)
            stop(log, life)
        log.lines.sort(key=lambda line: line[0])
        size = 0
        times: list[str] = []
        for at, line in log.lines:
            size += len(line.encode()) + 1
            if at > 0:
                times.append(f"{size} {START + at:.3f}")
            else:
                times = [f"{size} {START:.3f}"]  # what was there before the capture began
        files[f"{name}.log"] = "".join(f"{line}\n" for _, line in log.lines)
        files[f"{name}.times"] = "".join(f"{entry}\n" for entry in times)
        files[f"{name}.fingerprint.toml"] = fingerprints(port, lives)
    return files


def main(folder: Path) -> None:
    for capture, files in (("story", story()), ("story-5-steps", five_steps())):
        for name, content in files.items():
            path = folder / capture / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
