"""Whether a capture shows a language model generating: only then do its steps have phases."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pandas as pd

from perfetto_autoviz.steps.phases.names import (
    LANGUAGE_MODULE,
    OTHER_MODULE,
    TRAINING,
    is_serving,
)

SERVING_DIALECTS = frozenset({"vllm", "sglang", "atom", "tensorrt_llm"})
"""Whose annotations are those of a serving framework."""


def is_language_model(
    dialects: Iterable[str], kernels: Iterable[str], modules: Callable[[], pd.DataFrame]
) -> bool:
    """Whether a capture is of the inference of a language model.

    Args:
        dialects: whose annotations it carries.
        kernels: names of its kernels.
        modules: gives the relation ``_autoviz_module_call``; asked only if the kernels
            leave it open.
    """
    if not SERVING_DIALECTS.isdisjoint(dialects):
        return True
    names = [name for name in kernels if name]
    if any(map(is_serving, names)):
        return True
    if any(TRAINING.pattern.search(name) for name in names):
        return False
    classes = [str(name) for name in modules()["name"].unique()]
    if any(OTHER_MODULE.pattern.search(name) for name in classes):
        return False
    return any(LANGUAGE_MODULE.pattern.search(name) for name in classes)
