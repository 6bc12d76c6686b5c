"""The capture, and what the names of its kernels mean."""

from __future__ import annotations

from perfetto_autoviz.relations.schema import Column, Relation

CAPTURE = Relation(
    "capture",
    "The capture itself: who recorded it, on what, and what was repaired. One row.",
    (
        Column("schema_version", "LONG", "Version of the stored relations."),
        Column("autoviz_version", "STRING", "Version of the package that wrote the row."),
        Column("file_name", "STRING", "Name of the capture file, without its folder."),
        Column("file_size", "LONG", "Size of the capture file in bytes."),
        Column("sha256", "STRING", "SHA-256 of the capture file, in hex."),
        Column("rank", "LONG", "Rank of the process that was recorded."),
        Column("rank_evidence", "STRING", "Where the rank is from: metadata, file name, argument."),
        Column("world_size", "LONG", "Number of ranks of the run."),
        Column("framework", "STRING", "Serving framework by its annotations, e.g. vllm, sglang."),
        Column("gpu_name", "STRING", "Name of the device the kernels ran on."),
        Column("gpu_count", "LONG", "Number of devices the profiler lists."),
        Column("runtime", "STRING", "GPU runtime and version, e.g. cuda 12.9 or hip 7.0.51831."),
        Column("collective_library", "STRING", "Version of NCCL or RCCL."),
        Column("trace_name", "STRING", "The capture's own name for itself."),
        Column("base_time_ns", "LONG", "Epoch offset of the capture's clock in ns."),
        Column("event_count", "LONG", "Events in the file."),
        Column("kernel_count", "LONG", "Kernels in the file, by an independent scan."),
        Column("memcpy_count", "LONG", "Device copies in the file, by an independent scan."),
        Column("memset_count", "LONG", "Device fills in the file, by an independent scan."),
        Column("launch_count", "LONG", "Runtime and driver calls in the file."),
        Column("annotation_count", "LONG", "Host and device annotations in the file."),
        Column("repairs", "STRING", "What was repaired before loading, as a JSON list."),
        Column("left_out", "STRING", "Categories left out by a light load, comma-separated."),
        Column("metadata", "STRING", "Other top-level metadata of the capture, as JSON."),
        Column("run_id", "STRING", "Shared by all ranks annotated together."),
    ),
)

KERNEL_NAME = Relation(
    "kernel_name",
    "What a distinct device activity name means.",
    (
        Column("name", "STRING", "The name as recorded."),
        Column("op", "STRING", "Canonical operation: the name without its tuning."),
        Column("family", "STRING", "Coarse class of the operation."),
    ),
)
