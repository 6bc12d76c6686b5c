"""What an annotation says about an engine step, whichever framework wrote it.

Annotations are texts that a framework puts around a step while it is profiled. Every
framework has its own way to write them; here each becomes one :class:`Annotation`.
"""

from perfetto_autoviz.steps.dialects.annotation import (
    Annotation,
    Detail,
    Dialect,
    Kind,
    Phase,
    richness,
)
from perfetto_autoviz.steps.dialects.form import Pattern
from perfetto_autoviz.steps.dialects.patterns import (
    PATTERNS,
    candidate_prefixes,
    parse_annotation,
)

__all__ = [
    "PATTERNS",
    "Annotation",
    "Detail",
    "Dialect",
    "Kind",
    "Pattern",
    "Phase",
    "candidate_prefixes",
    "parse_annotation",
    "richness",
]
