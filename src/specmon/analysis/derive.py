"""What follows from the figures of one decode line by the identity R = 1000 * A * B / C."""

from __future__ import annotations

import math

from specmon.analysis.rules import REQUEST, Cadence
from specmon.analysis.sample import Reading, Sample


def sample_of(
    reading: Reading, index: int, cadence: Cadence, *, is_speculative: bool, is_acceptance_told: bool
) -> Sample:
    """The derived figures of a line (identity R = 1000 * A * B / C)."""
    running, tok_s = reading.running, reading.tok_s
    accept = reading.accept_len
    if accept != accept and not is_speculative:
        accept = 1.0
    is_request = cadence.covers is REQUEST
    if is_request and accept != accept and is_acceptance_told:
        accept = 1.0  # nothing was drafted for this answer: each cycle gave one token
    cycle = reading.cycle_ms
    if cycle != cycle and is_request:
        cycle = 1000 * reading.window_s * accept / reading.tokens if reading.tokens else math.nan
    elif cycle != cycle and tok_s > 0 and running > 0:
        cycle = 1000 * accept * running / tok_s
    # A line of a whole batch counts the tokens of all its requests, one of an answer only its own.
    share = 1 if is_request else max(running, 1)
    cycles = float(cadence.cycles_per_sample)
    tokens = reading.tokens
    if tokens == tokens and accept == accept:
        cycles = tokens / (accept * share)
    elif tokens != tokens:
        tokens = cycles * accept * running
    window = reading.window_s
    window_cycles = cycles
    if is_request:
        # The B requests of the batch share the time of the server.
        window /= max(running, 1)
        window_cycles /= max(running, 1)
    elif window != window and tok_s > 0:
        window = tokens / tok_s
    rounds = reading.drafts
    if cadence.is_by_clock:
        # How long the window was is for the rank to say: it knows the lines before.
        tokens = window_cycles = math.nan
        window = reading.window_s
        if rounds != rounds:
            rounds = 0.0 if is_speculative else 1.0
        cycles = rounds / max(running, 1)
    elif rounds != rounds:
        # In a speculative run an answer without a draft figure rests on no draft round.
        rounds = cycles * running if not is_request else 0.0 if is_speculative else cycles
    return Sample(  # by place: names take a third longer, and every line comes through here
        index,
        reading.at,
        running,
        tok_s,
        tok_s * running if is_request else tok_s,
        accept,
        cycle,
        reading.context_tokens / running if running > 0 else math.nan,
        reading.queue,
        reading.graph,
        cycles,
        window,
        tokens,
        rounds,
        window_cycles,
        reading.drafted,
        reading.accepted,
        reading.prompt_tok_s,
        reading.by_position,
    )
