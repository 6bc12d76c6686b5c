"""The relations that Python steps make, and that an enriched trace stores.

One description serves three readers: the session, which pushes a frame under the
relation's private source name; the track writer, which stores each row; and the
SQL modules in ``sql/source``, which read the rows back in a plain trace processor.
"""

from perfetto_autoviz.relations.anomalies import (
    ANOMALY_GROUP,
    KERNEL_ANOMALY,
    RUN_ANOMALY,
    STRAGGLER,
)
from perfetto_autoviz.relations.capture import CAPTURE, KERNEL_NAME
from perfetto_autoviz.relations.compare import (
    COMPARISON,
    COMPARISON_RELATIONS,
    EDIT,
    MATCH,
    OPERATION_CHANGE,
    PAIR_SCORE,
    RUN_MATCH,
    UNSHARED_OPERATION,
)
from perfetto_autoviz.relations.iterations import (
    ITERATION,
    ITERATION_EVIDENCE,
    ITERATION_SEGMENT,
    PHASE,
)
from perfetto_autoviz.relations.layers import LAYER
from perfetto_autoviz.relations.patterns import (
    PATTERN,
    PATTERN_POSITION,
    PATTERN_RUN,
    PATTERN_SEGMENT,
)
from perfetto_autoviz.relations.schema import SCHEMA_VERSION, Column, Relation, SqlType
from perfetto_autoviz.relations.steady_state import STEADY_WINDOW

RELATIONS: tuple[Relation, ...] = (
    CAPTURE,
    KERNEL_NAME,
    ITERATION,
    ITERATION_SEGMENT,
    ITERATION_EVIDENCE,
    PHASE,
    STEADY_WINDOW,
    LAYER,
    PATTERN,
    PATTERN_POSITION,
    PATTERN_RUN,
    PATTERN_SEGMENT,
    ANOMALY_GROUP,
    RUN_ANOMALY,
    KERNEL_ANOMALY,
    STRAGGLER,
    *COMPARISON_RELATIONS,
)
"""All stored relations, in the order in which the steps make them."""

__all__ = [
    "ANOMALY_GROUP",
    "CAPTURE",
    "COMPARISON",
    "COMPARISON_RELATIONS",
    "EDIT",
    "ITERATION",
    "ITERATION_EVIDENCE",
    "ITERATION_SEGMENT",
    "KERNEL_ANOMALY",
    "KERNEL_NAME",
    "LAYER",
    "MATCH",
    "OPERATION_CHANGE",
    "PAIR_SCORE",
    "PATTERN",
    "PATTERN_POSITION",
    "PATTERN_RUN",
    "PATTERN_SEGMENT",
    "PHASE",
    "RELATIONS",
    "RUN_ANOMALY",
    "RUN_MATCH",
    "SCHEMA_VERSION",
    "STEADY_WINDOW",
    "STRAGGLER",
    "UNSHARED_OPERATION",
    "Column",
    "Relation",
    "SqlType",
]
