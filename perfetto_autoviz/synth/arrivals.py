"""A small deterministic request scheduler: which requests each engine step computes.

Requests arrive in a ramp until the wanted concurrency is reached, are replaced as they
finish, now and then arrive in a burst of long prompts, and finally only finish. That gives
the four stretches that serving captures show: ramp, steady state, prefill spikes, drain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from perfetto_autoviz.errors import UsageError

Phase = Literal["prefill", "decode", "mixed", "draft", "verify", "idle", "dummy"]
StepKind = Literal["step", "dummy", "capture"]


@dataclass(frozen=True)
class Arrivals:
    """How requests come and go.

    Attributes:
        concurrency: requests in flight in steady state.
        prompt_tokens: smallest and largest prompt, in tokens.
        output_tokens: smallest and largest output, in tokens.
        ramp_share: share of the steps in which the concurrency is built up.
        drain_share: share of the steps, at the end, in which nothing arrives any more.
        spike_every: steps between two bursts of long prompts; 0 for none.
        spike_share: share of the concurrency that a burst replaces.
        spike_factor: how much longer the prompts of a burst are.
        token_budget: most tokens in one step; longer prompts are prefilled in chunks.
        policy: ``mixed`` computes prompts beside decoding requests, ``separate`` first.
        start_full: no ramp, all requests have been prefilled before the capture starts.
    """

    concurrency: int = 32
    prompt_tokens: tuple[int, int] = (256, 1024)
    output_tokens: tuple[int, int] = (64, 256)
    ramp_share: float = 0.2
    drain_share: float = 0.2
    spike_every: int = 0
    spike_share: float = 0.15
    spike_factor: float = 4.0
    token_budget: int = 8192
    policy: Literal["mixed", "separate"] = "mixed"
    start_full: bool = False


@dataclass(frozen=True)
class Work:
    """The requests of one role in a step.

    Attributes:
        requests: number of requests.
        queries: new tokens, summed (``sq``).
        keys: attended tokens, summed (``sk``).
        queries_squared: sum of squares of the new tokens (``sqsq``).
        queries_keys: sum of new times attended tokens (``sqsk``).
        lengths: new tokens of each request.
    """

    requests: int = 0
    queries: int = 0
    keys: int = 0
    queries_squared: int = 0
    queries_keys: int = 0
    lengths: tuple[int, ...] = ()


NO_WORK = Work()


@dataclass(frozen=True)
class StepPlan:
    """One engine step before it has a time.

    Attributes:
        index: number of the step in the capture, from 0.
        kind: a real step, a dummy batch, or a graph capture.
        phase: what it computes.
        context: requests that are prefilled.
        generation: requests that decode.
        draft_index: number of a draft pass among the passes before its verification.
    """

    index: int
    kind: StepKind
    phase: Phase
    context: Work = NO_WORK
    generation: Work = NO_WORK
    draft_index: int = 0

    @property
    def requests(self) -> int:
        """All requests of the step."""
        return self.context.requests + self.generation.requests

    @property
    def tokens(self) -> int:
        """All new tokens of the step."""
        return self.context.queries + self.generation.queries


@dataclass
class _Request:
    prompt: int
    remaining: int
    done: int = 0

    @property
    def waiting(self) -> bool:
        return self.done < self.prompt


@dataclass
class _Scheduler:
    arrivals: Arrivals
    steps: int
    rng: np.random.Generator
    active: list[_Request] = field(default_factory=list)
    draining: bool = False

    def run(self) -> Iterator[tuple[Work, Work]]:
        share = 0.0 if self.arrivals.start_full else self.arrivals.ramp_share
        ramp = round(share * self.steps)
        drain = self.steps - round(self.arrivals.drain_share * self.steps)
        for step in range(self.steps):
            self._retire()
            if step >= drain and not self.draining:
                self._start_drain(self.steps - step)
            if not self.draining:
                self._admit(step, ramp)
            yield self._schedule()

    def _retire(self) -> None:
        self.active = [r for r in self.active if r.waiting or r.remaining > 0]

    def _start_drain(self, left: int) -> None:
        """Outputs end one after another until the last step, which still has a request."""
        self.draining = True
        for i, request in enumerate(self.active):
            request.remaining = left if i == 0 else int(self.rng.integers(1, left + 1))

    def _admit(self, step: int, ramp: int) -> None:
        wanted = self.arrivals.concurrency
        if step < ramp:
            wanted = max(1, wanted * (step + 1) // ramp)
        factor = 1.0
        every = self.arrivals.spike_every
        if every and step >= ramp and (step - ramp) % every == every // 2:
            leaving = max(1, round(self.arrivals.spike_share * wanted))
            del self.active[:leaving]
            factor = self.arrivals.spike_factor
        for _ in range(wanted - len(self.active)):
            self.active.append(self._request(factor, prefilled=step == 0))

    def _request(self, factor: float, *, prefilled: bool) -> _Request:
        low, high = self.arrivals.prompt_tokens
        prompt = max(1, round(int(self.rng.integers(low, high + 1)) * factor))
        low, high = self.arrivals.output_tokens
        request = _Request(prompt, int(self.rng.integers(low, high + 1)))
        if prefilled and self.arrivals.start_full:
            request.done = prompt
            request.remaining = int(self.rng.integers(1, request.remaining + 1))
        return request

    def _schedule(self) -> tuple[Work, Work]:
        waiting = [r for r in self.active if r.waiting]
        separate = self.arrivals.policy == "separate" and bool(waiting)
        decoding = [] if separate else [r for r in self.active if not r.waiting]
        generation = _work([(1, r.done + 1) for r in decoding])
        for request in decoding:
            request.done += 1
            request.remaining -= 1
        return self._prefill(waiting, self.arrivals.token_budget - len(decoding)), generation

    def _prefill(self, waiting: list[_Request], budget: int) -> Work:
        chunks: list[tuple[int, int]] = []
        for request in waiting:
            chunk = min(request.prompt - request.done, budget)
            if chunk <= 0:
                break
            budget -= chunk
            request.done += chunk
            chunks.append((chunk, request.done))
            if not request.waiting:
                request.remaining -= 1
        return _work(chunks)


def plan_steps(arrivals: Arrivals, steps: int, seed: int, speculative: int) -> Iterator[StepPlan]:
    """The real steps of a capture, ``steps`` of them, numbered from 0.

    With ``speculative`` draft tokens, a decode step becomes one draft step and one verify
    step, which count as two.

    Raises:
        UsageError: the arrivals contradict each other.
    """
    _check(arrivals, steps)
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 1])))
    index = 0
    for context, generation in _Scheduler(arrivals, steps, rng).run():
        for plan in _phases(index, context, generation, speculative):
            if index == steps:
                return
            yield plan
            index += 1


def _phases(index: int, context: Work, generation: Work, speculative: int) -> Iterator[StepPlan]:
    if context.requests or not generation.requests or not speculative:
        yield StepPlan(index, "step", _phase(context, generation), context, generation)
        return
    keys = round(generation.keys / generation.requests)
    per_request = (1, keys), (speculative + 1, keys + speculative)
    for offset, (phase, shape) in enumerate(zip(("draft", "verify"), per_request, strict=True)):
        work = _work([shape] * generation.requests)
        if phase == "draft":
            yield StepPlan(index + offset, "step", "draft", NO_WORK, work)
        else:
            yield StepPlan(index + offset, "step", "verify", NO_WORK, work)


def _phase(context: Work, generation: Work) -> Phase:
    if context.requests and generation.requests:
        return "mixed"
    if context.requests:
        return "prefill"
    return "decode" if generation.requests else "idle"


def decode_work(requests: int, keys: int) -> Work:
    """Work of decoding requests that all attend to ``keys`` tokens."""
    return _work([(1, keys)] * requests)


def _work(shapes: list[tuple[int, int]]) -> Work:
    return Work(
        requests=len(shapes),
        queries=sum(q for q, _ in shapes),
        keys=sum(k for _, k in shapes),
        queries_squared=sum(q * q for q, _ in shapes),
        queries_keys=sum(q * k for q, k in shapes),
        lengths=tuple(q for q, _ in shapes),
    )


def _check(arrivals: Arrivals, steps: int) -> None:
    if steps < 1:
        raise UsageError(f"a capture needs at least one step, not {steps}")
    if arrivals.concurrency < 1:
        raise UsageError(f"concurrency must be at least 1, not {arrivals.concurrency}")
    if arrivals.token_budget <= arrivals.concurrency:
        raise UsageError(
            f"a token budget of {arrivals.token_budget} leaves no room for prompts beside"
            f" {arrivals.concurrency} requests; raise it"
        )
    for low, high in (arrivals.prompt_tokens, arrivals.output_tokens):
        if not 1 <= low <= high:
            raise UsageError(f"token range {low}..{high} must rise from at least 1")
