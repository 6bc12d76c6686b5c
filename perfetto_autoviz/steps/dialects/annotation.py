"""The common form of all annotations, and which of two says more."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Dialect = Literal["vllm", "sglang", "atom", "tensorrt_llm", "torch_profiler", "diffusion"]
Kind = Literal["step", "dummy", "capture", "generation"]
Phase = Literal["prefill", "decode", "mixed", "draft", "verify", "idle", "dummy", "unknown"]
Detail = int | str | tuple[int, ...]

_COUNTS = (
    "batch_size",
    "context_requests",
    "generation_requests",
    "context_tokens",
    "generation_tokens",
    "graph_batch_size",
    "speculative_tokens",
)


@dataclass(frozen=True)
class Annotation:
    """One annotation, read.

    A count is None where the text does not state it and it does not follow from what
    the text states; nothing is guessed.

    Attributes:
        text: the annotation as recorded.
        dialect: who writes annotations of this form.
        kind: ``step`` is a real engine step; ``dummy`` one that only keeps ranks in
            lockstep or warms up; ``capture`` the recording of a graph; ``generation`` one
            whole image of a diffusion model, which holds many denoising steps.
        phase: what the step does, or None where the dialect never says
            (``ProfilerStep#7``); ``unknown`` is a step whose mode is stated but not known.
        batch_size: requests in the step, without padding.
        context_requests: requests that are prefilled.
        generation_requests: requests that decode, verify or draft.
        context_tokens: tokens of the prefilled requests.
        generation_tokens: tokens of the generating requests; more than one a request
            where draft tokens are verified.
        graph_batch_size: batch size of the graph that is replayed or captured.
        speculative_tokens: draft tokens per request that the step verifies.
        step_number: the framework's own number of the step.
        detail: everything else the text states, by the framework's own keys.
    """

    text: str
    dialect: Dialect
    kind: Kind = "step"
    phase: Phase | None = None
    batch_size: int | None = None
    context_requests: int | None = None
    generation_requests: int | None = None
    context_tokens: int | None = None
    generation_tokens: int | None = None
    graph_batch_size: int | None = None
    speculative_tokens: int | None = None
    step_number: int | None = None
    detail: Mapping[str, Detail] = field(default_factory=dict, hash=False)


def richness(annotation: Annotation) -> tuple[int, int, int]:
    """How much an annotation says, to choose between two of the same span.

    Returns:
        A tuple to compare: whether a phase is stated, how many counts are, how many
        details are. The greater one says more.
    """
    counts = sum(getattr(annotation, name) is not None for name in _COUNTS)
    return (int(annotation.phase not in (None, "unknown")), counts, len(annotation.detail))


def phase_of(context_requests: int, generation_requests: int) -> Phase:
    """The phase that follows from how many requests are prefilled and how many generate.

    A step that verifies draft tokens inside ordinary generation (more tokens than
    requests) stays ``decode``: only a framework that runs the verification as a step of
    its own kind makes it ``verify``. So a decode step is found under the same name with
    and without speculation, and ``speculative_tokens`` tells the two apart.
    """
    if context_requests and generation_requests:
        return "mixed"
    if context_requests:
        return "prefill"
    return "decode" if generation_requests else "idle"
