"""Which serving framework wrote a capture's annotations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from perfetto_autoviz.steps.dialects import parse_annotation

# Written by more than one framework: SGLang with a patch repeats its steps in vLLM's form.
_BORROWED = {"vllm": "sglang"}


def framework_of(names: Iterable[str | None]) -> str | None:
    """The framework that most annotations speak for; None if none does."""
    found: Counter[str] = Counter()
    for name in names:
        annotation = parse_annotation(name) if name else None
        if annotation and annotation.dialect not in ("torch_profiler", "diffusion"):
            found[annotation.dialect] += 1
    for form, owner in _BORROWED.items():
        if found[form] and found[owner]:
            return owner
    return found.most_common(1)[0][0] if found else None
