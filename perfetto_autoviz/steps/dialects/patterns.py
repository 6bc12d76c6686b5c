"""All forms of annotations, and reading one.

A text that no form accepts is no step annotation: compiled-graph calls, collectives,
optimizer and Python names all give None.
"""

from __future__ import annotations

from perfetto_autoviz.steps.dialects import atom, others, sglang, vllm
from perfetto_autoviz.steps.dialects.annotation import Annotation
from perfetto_autoviz.steps.dialects.form import Pattern

_LONGEST = 4096
"""No framework writes a longer annotation; anything longer is not looked at."""

PATTERNS: tuple[Pattern, ...] = (
    *vllm.PATTERNS,
    *sglang.PATTERNS,
    *atom.PATTERNS,
    *others.PATTERNS,
)

candidate_prefixes: tuple[str, ...] = tuple(
    dict.fromkeys(prefix for pattern in PATTERNS for prefix in pattern.prefixes)
)
"""Lower-case beginnings: what :func:`parse_annotation` accepts begins with one of them,
whatever its case. They select the few texts worth parsing among a capture's many."""

_LONGEST_PREFIX = max(map(len, candidate_prefixes))


def parse_annotation(text: str) -> Annotation | None:
    """Reads one annotation.

    Args:
        text: the annotation as recorded.

    Returns:
        The annotation, or None for a text that is no step annotation.
    """
    if len(text) > _LONGEST:
        return None
    start = text[:_LONGEST_PREFIX].lower()
    if not start.startswith(candidate_prefixes):
        return None
    for pattern in PATTERNS:
        if start.startswith(pattern.prefixes):
            match = pattern.expression.fullmatch(text)
            if match is not None:
                return pattern.build(text, match)
    return None
