"""Annotations to host spans of iterations: nested and repeated ones counted once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pandas as pd

from perfetto_autoviz.steps.dialects import Annotation, parse_annotation, richness

# ## Call CompiledFxGraph fmoqvvs6b7cau5o4mrq6fnghazxmz4m445rrdxde23uhpywn2vop ##
# In an LLM step it is one of many pieces of a layer; in one generation of a diffusion
# model the graph that recurs is the denoising step.
_COMPILED_GRAPH = re.compile(r"^## Call CompiledFxGraph \w+ ##$")


MIN_REPEAT_OVERLAP = 0.9
"""Part of the longer of two spans that they must share to be one step marked twice."""


@dataclass
class Span:
    """A span that stands for an iteration.

    Attributes:
        ts: start in ns.
        end: end in ns.
        text: the annotation, the richer one where two mark the same step.
        annotation: what it says; None for a step that only its place makes one.
        thread: utid of the thread it lies on.
        process: number of its process.
        children: spans inside it.
        inferred: kind of a span that no annotation makes an iteration.
    """

    ts: int
    end: int
    text: str
    annotation: Annotation | None
    thread: int
    process: int
    children: list[Span] = field(default_factory=list)
    inferred: str | None = None

    @property
    def kind(self) -> str:
        """step, generation, dummy or capture; inferred also warm-up or wrap-up."""
        return self.annotation.kind if self.annotation else self.inferred or "step"

    @property
    def dialect(self) -> str | None:
        """Whose annotation it is; None for an inferred span."""
        if self.inferred:
            return None
        return self.annotation.dialect if self.annotation else "torch_compile"


def iteration_spans(annotations: pd.DataFrame, *, on_device: bool = False) -> list[Span]:
    """Outermost spans in order of start, each with the spans inside it.

    Args:
        annotations: columns ts, dur (ns), name, utid, pid, of one side: the host, or
            the streams of a device.
        on_device: which side. A device span is repeated on each stream, from the first to
            the last activity there; on the host, two threads that are in a step of the same
            text at the same time are in two steps, unless the spans are all but equal.
    """
    spans = _serving_first(_candidates(annotations))
    roots: list[Span] = []
    for thread in dict.fromkeys(span.thread for span in spans):
        roots += _nest(span for span in spans if span.thread == thread)
    return _distinct(
        [_unify(root) for root in roots], least_overlap=0.0 if on_device else MIN_REPEAT_OVERLAP
    )


def levels(roots: list[Span]) -> Iterator[tuple[int, Span, Span | None]]:
    """All spans with their level and the span they lie in, parents first."""
    pending: list[tuple[int, Span, Span | None]] = [(0, root, None) for root in roots]
    while pending:
        level, span, parent = pending.pop(0)
        yield level, span, parent
        pending += [(level + 1, child, span) for child in span.children]


def _candidates(annotations: pd.DataFrame) -> list[Span]:
    readings = {text: parse_annotation(text) for text in annotations["name"].dropna().unique()}
    graphs = {text for text in readings if _COMPILED_GRAPH.match(text)}
    rows = zip(
        annotations["ts"],
        annotations["dur"],
        annotations["name"],
        annotations["utid"],
        annotations["pid"],
        strict=True,
    )
    found = [
        Span(
            int(ts),
            int(ts + dur),
            text,
            readings[text],
            int(utid),
            -1 if pd.isna(pid) else int(pid),
        )
        for ts, dur, text, utid, pid in rows
        if text in graphs or (isinstance(text, str) and readings[text] is not None)
    ]
    # A span that starts together with another and ends later contains it.
    return sorted(found, key=lambda span: (span.ts, -span.end))


def _serving_first(spans: list[Span]) -> list[Span]:
    """Leaves out the profiler's own steps where a framework marks its steps."""
    dialects = {span.dialect for span in spans}
    if dialects - {"torch_profiler", "torch_compile"}:
        return [span for span in spans if span.dialect != "torch_profiler"]
    return spans


def _nest(spans: Iterable[Span]) -> list[Span]:
    roots: list[Span] = []
    stack: list[Span] = []
    for span in spans:
        while stack and stack[-1].end <= span.ts:
            stack.pop()
        if stack and span.end <= stack[-1].end:
            stack[-1].children.append(span)
        else:
            roots.append(span)
        stack.append(span)
    return [root for root in roots if root.annotation is not None]


def _unify(span: Span) -> Span:
    """Absorbs a single inner span that marks the same step; keeps those of steps within."""
    span.children = [_unify(child) for child in _steps_within(span)]
    if len(span.children) == 1 and _same_step(span, span.children[0]):
        inner = span.children[0]
        if _says(inner) > _says(span):
            span.text, span.annotation = inner.text, inner.annotation
        span.children = inner.children
    return span


def _says(span: Span) -> tuple[int, ...]:
    return richness(span.annotation) if span.annotation else ()


def _steps_within(span: Span) -> list[Span]:
    marked = [child for child in span.children if child.annotation is not None]
    if marked or span.kind != "generation":
        return marked
    graphs = Counter(child.text for child in span.children)
    text, count = graphs.most_common(1)[0] if graphs else ("", 0)
    return [child for child in span.children if child.text == text] if count > 1 else []


def _same_step(outer: Span, inner: Span) -> bool:
    if outer.annotation is None or inner.annotation is None or outer.kind != inner.kind:
        return False
    return outer.dialect != inner.dialect or outer.text == inner.text


def _distinct(roots: list[Span], least_overlap: float) -> list[Span]:
    """Drops a span that another thread of the process repeats at the same time."""
    kept: list[Span] = []
    latest: dict[tuple[int, str], Span] = {}
    for root in sorted(roots, key=lambda span: (span.ts, -span.end)):
        twin = latest.get((root.process, root.text))
        if twin and twin.thread != root.thread and _overlap(twin, root) > least_overlap:
            continue
        latest[root.process, root.text] = root
        kept.append(root)
    return kept


def _overlap(one: Span, other: Span) -> float:
    """Shared part of the longer of two spans."""
    shared = min(one.end, other.end) - max(one.ts, other.ts)
    return shared / max(one.end - one.ts, other.end - other.ts, 1)
