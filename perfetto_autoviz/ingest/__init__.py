"""What must happen before the engine sees a file: sniff, scan, repair, find ranks."""

from perfetto_autoviz.ingest.capture import Capture, scan_capture
from perfetto_autoviz.ingest.columns import Counts
from perfetto_autoviz.ingest.metadata import CaptureMetadata
from perfetto_autoviz.ingest.ranks import RankedCapture, assign_ranks, find_captures
from perfetto_autoviz.ingest.repair import Repair

__all__ = [
    "Capture",
    "CaptureMetadata",
    "Counts",
    "RankedCapture",
    "Repair",
    "assign_ranks",
    "find_captures",
    "scan_capture",
]
