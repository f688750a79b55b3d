"""What a launch line says in the words of the report, whatever the engine calls it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from specmon.events import Json

DEFAULT_LOG_INTERVAL = 40  # decode passes for a statistics line, where the log does not say


@dataclass(frozen=True, slots=True)
class Launch:
    """The flags of one server life, as far as the log shows them. None: the log does not say."""

    flags: Mapping[str, Json] = field(default_factory=lambda: MappingProxyType({}))
    is_complete: bool = True
    version: str | None = None  # of the engine

    def continued(self, flags: Mapping[str, Json], *, is_complete: bool, version: str | None = None) -> Launch:
        """The same launch with the rest of its record."""
        return Launch(MappingProxyType({**self.flags, **flags}), is_complete, version or self.version)

    def text(self, *names: str) -> str | None:
        """The first of these flags that holds text."""
        return next((value for name in names if isinstance(value := self.flags.get(name), str) and value), None)

    def number(self, *names: str) -> int | None:
        """The first of these flags that holds a whole number."""
        for name in names:
            value = self.flags.get(name)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
        return None

    @property
    def model(self) -> str | None:
        """The target model, as it was named."""
        return self.text("model_path", "model")

    @property
    def tp_size(self) -> int | None:
        """Tensor parallelism."""
        return self.number("tp_size", "tensor_parallel_size")

    @property
    def dp_size(self) -> int | None:
        """Data parallelism."""
        return self.number("dp_size", "data_parallel_size")

    @property
    def pp_size(self) -> int | None:
        """Pipeline parallelism."""
        return self.number("pp_size", "pipeline_parallel_size")

    @property
    def algorithm(self) -> str | None:
        """The speculative algorithm; None without one, or when the log does not say."""
        if self._vllm_drafts is not None:
            method = self._vllm_drafts.get("method")
            return method if isinstance(method, str) else None
        return self.text("speculative_algorithm", "spec_type")

    @property
    def draft_model(self) -> str | None:
        """The model that proposes tokens."""
        if self._vllm_drafts is not None:
            model = self._vllm_drafts.get("model", self._vllm_drafts.get("draft_model"))
            return model if isinstance(model, str) and model != self.algorithm else None
        return self.text("speculative_draft_model_path", "model_draft")

    @property
    def proposes_drafts(self) -> bool:
        """The launch names an algorithm, or at least a draft model."""
        return self._vllm_drafts is not None or self.algorithm is not None or self.draft_model is not None

    @property
    def num_steps(self) -> int | None:
        """Draft tokens that are proposed one after the other."""
        if self._vllm_drafts is not None:
            steps = self._vllm_drafts.get("num_speculative_tokens", self._vllm_drafts.get("num_spec_tokens"))
            return steps if isinstance(steps, int) else None
        return self.number("speculative_num_steps", "n_max")

    @property
    def num_draft_tokens(self) -> int | None:
        """Positions that one verify pass checks, the bonus token's included."""
        longest = self.number("n_max")  # llama.cpp counts the drafts alone
        if self._vllm_drafts is not None:
            longest = self.num_steps
        return self.number("speculative_num_draft_tokens") if longest is None else longest + 1

    @property
    def says_no_speculation(self) -> bool:
        """The record is whole (or names the key) and holds no algorithm."""
        names = ("speculative_algorithm", "speculative_config")
        return not self.proposes_drafts and (self.is_complete or any(name in self.flags for name in names))

    @property
    def is_ngram(self) -> bool:
        """Drafts are looked up in the text, so many steps have none, and vLLM counts only those that have."""
        return self._vllm_drafts is not None and "ngram" in (self.algorithm or "")

    @property
    def says_no_statistics(self) -> bool:
        """The server was told to print none."""
        return self.flags.get("disable_log_stats") is True

    @property
    def _vllm_drafts(self) -> Mapping[str, Json] | None:
        """vLLM's settings of its drafter: a record of their own, or single arguments [V0]."""
        if isinstance(config := self.flags.get("speculative_config"), dict):
            return config
        if (model := self.text("speculative_model")) is None:
            return None
        is_ngram = model == "[ngram]"
        return {
            "method": "ngram" if is_ngram else None,
            "model": None if is_ngram else model,
            "num_speculative_tokens": self.number("num_speculative_tokens"),
        }

    @property
    def log_interval(self) -> int | None:
        """Decode passes for a statistics line."""
        interval = self.number("decode_log_interval")
        return interval if interval is not None and interval > 0 else None

    @property
    def address(self) -> tuple[str | None, int | None]:
        """Where the server listens."""
        return self.text("host"), self.number("port")

    @property
    def speaks_tls(self) -> bool:
        """Whether a certificate was given to it."""
        return any(self.text(name) for name in ("ssl_certfile", "ssl_cert_file", "ssl_keyfile"))
