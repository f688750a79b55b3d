"""Which engine a command line starts, and what is known of each from outside: its pages, titles and ports."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from types import MappingProxyType

# Extended regular expression for the command lines of servers and of the processes that they rename. The brackets keep
# it from matching the command line that carries it.
PATTERN = "[s]glang|[v]llm|[V]LLM::|[l]lama-server|[t]rtllm-serve"

_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*")


@dataclass(frozen=True, slots=True)
class Engine:
    """What the servers of one engine have in common."""

    name: str  # as the log formats call it
    distribution: str | None  # its Python package; None when it is not Python
    port: int  # where it listens unless told otherwise
    version_pages: tuple[str, ...]  # tried in this order while the answer is "not found"
    version_key: str  # of the page's JSON
    modules: tuple[str, ...] = ()  # `python -m …`
    scripts: tuple[tuple[str, ...], ...] = ()  # name of the program, and the word that follows
    titles: tuple[str, ...] = ()  # how processes that do the decoding call themselves
    aliases: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # option to the log's own name
    positional: str | None = None  # what a word without an option before it is


SGLANG = Engine(
    "sglang",
    "sglang",
    30000,
    ("/server_info", "/get_server_info"),  # the second one until 0.5.5
    "version",
    modules=("sglang.launch_server",),
    scripts=(("sglang", "serve"), ("sglang/launch_server.py",), ("sglang.cli.main", "serve"), ("sglang.cli", "serve")),
    titles=("sglang::scheduler",),
    aliases=MappingProxyType(
        {
            "model": "model_path",
            "tp": "tp_size",
            "tensor_parallel_size": "tp_size",
            "dp": "dp_size",
            "data_parallel_size": "dp_size",
            "pp": "pp_size",
            "pipeline_parallel_size": "pp_size",
            "ep": "ep_size",
            "expert_parallel_size": "ep_size",
            "speculative_draft_model": "speculative_draft_model_path",
        }
    ),
)
VLLM = Engine(
    "vllm",
    "vllm",
    8000,
    ("/version",),
    "version",
    modules=("vllm.entrypoints.openai.api_server",),
    scripts=(("vllm", "serve"), ("vllm.entrypoints.cli.main", "serve")),
    titles=("VLLM::EngineCore", "VLLM::Worker"),
    aliases=MappingProxyType(
        {"tp": "tensor_parallel_size", "pp": "pipeline_parallel_size", "dp": "data_parallel_size"}
    ),
    positional="model",
)
LLAMA_CPP = Engine(
    "llama.cpp",
    None,
    8080,
    ("/props",),
    "build_info",
    scripts=(("llama-server",),),
    aliases=MappingProxyType(
        {
            "m": "model",
            "md": "model_draft",
            "c": "ctx_size",
            "b": "batch_size",
            "ub": "ubatch_size",
            "np": "parallel",
            "t": "threads",
            "tb": "threads_batch",
            "ngl": "n_gpu_layers",
            "gpu_layers": "n_gpu_layers",
            "ngld": "n_gpu_layers_draft",
            "fa": "flash_attn",
            "ctk": "cache_type_k",
            "ctv": "cache_type_v",
            "sm": "split_mode",
            "ts": "tensor_split",
            "mg": "main_gpu",
            "dev": "device",
            "hf": "hf_repo",
            "a": "alias",
            "lv": "verbosity",
            "spec_draft_n_max": "n_max",
            "spec_draft_n_min": "n_min",
        }
    ),
)
TENSORRT_LLM = Engine(
    "tensorrt-llm",
    "tensorrt_llm",
    8000,
    ("/version",),
    "version",
    modules=("tensorrt_llm.commands.serve",),
    scripts=(("trtllm-serve",),),
    positional="model",
)
ENGINES = (SGLANG, VLLM, LLAMA_CPP, TENSORRT_LLM)


def recognise(args: Sequence[str]) -> tuple[Engine, tuple[str, ...]] | None:
    """The engine whose server a command line is, and the words of its own; None when it is none.

    A shell that was given the whole command as one word is not the server, nor is `timeout`, `sudo` or `uv run`
    before it: those have children of their own.
    """
    if not args:
        return None
    for engine in ENGINES:
        if (words := _after_script(engine, args, 0)) is not None:
            return engine, words
    if not _PYTHON.fullmatch(PurePosixPath(args[0]).name):
        return None
    for index, word in enumerate(args[1:], start=1):
        before = args[index - 1]
        for engine in ENGINES:
            if before == "-m":
                if word in engine.modules:
                    return engine, tuple(args[index + 1 :])
            elif before.startswith("-") and before not in ("-u", "-O", "-I", "-B"):
                continue
            if (words := _after_script(engine, args, index)) is not None:
                return engine, words
    return None


def _after_script(engine: Engine, args: Sequence[str], index: int) -> tuple[str, ...] | None:
    """The words behind a program (or a Python script) of this engine at a place of the command line."""
    for script, *following in engine.scripts:
        word = args[index]
        is_it = word.endswith(script) if "/" in script else script in (PurePosixPath(word).name, word)
        if is_it and list(args[index + 1 : index + 1 + len(following)]) == following:
            words = tuple(args[index + 1 + len(following) :])
            # `trtllm-serve serve MODEL` is the long form of `trtllm-serve MODEL`
            return words[1:] if engine is TENSORRT_LLM and words[:1] == ("serve",) else words
    return None
