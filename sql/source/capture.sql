-- The capture itself: who recorded it, on what, and what was repaired. One row.
CREATE OR REPLACE PERFETTO TABLE _autoviz_src_capture(
  -- Version of the stored relations.
  schema_version LONG,
  -- Version of the package that wrote the row.
  autoviz_version STRING,
  -- Name of the capture file, without its folder.
  file_name STRING,
  -- Size of the capture file in bytes.
  file_size LONG,
  -- SHA-256 of the capture file, in hex.
  sha256 STRING,
  -- Rank of the process that was recorded.
  rank LONG,
  -- Where the rank is from: metadata, file name, argument.
  rank_evidence STRING,
  -- Number of ranks of the run.
  world_size LONG,
  -- Serving framework by its annotations, e.g. vllm, sglang.
  framework STRING,
  -- Name of the device the kernels ran on.
  gpu_name STRING,
  -- Number of devices the profiler lists.
  gpu_count LONG,
  -- GPU runtime and version, e.g. cuda 12.9 or hip 7.0.51831.
  runtime STRING,
  -- Version of NCCL or RCCL.
  collective_library STRING,
  -- The capture's own name for itself.
  trace_name STRING,
  -- Epoch offset of the capture's clock in ns.
  base_time_ns LONG,
  -- Events in the file.
  event_count LONG,
  -- Kernels in the file, by an independent scan.
  kernel_count LONG,
  -- Device copies in the file, by an independent scan.
  memcpy_count LONG,
  -- Device fills in the file, by an independent scan.
  memset_count LONG,
  -- Runtime and driver calls in the file.
  launch_count LONG,
  -- Host and device annotations in the file.
  annotation_count LONG,
  -- What was repaired before loading, as a JSON list.
  repairs STRING,
  -- Categories left out by a light load, comma-separated.
  left_out STRING,
  -- Other top-level metadata of the capture, as JSON.
  metadata STRING,
  -- Shared by all ranks annotated together.
  run_id STRING
) AS
SELECT
  extract_arg(slice.arg_set_id, 'debug.schema_version') AS schema_version,
  extract_arg(slice.arg_set_id, 'debug.autoviz_version') AS autoviz_version,
  extract_arg(slice.arg_set_id, 'debug.file_name') AS file_name,
  extract_arg(slice.arg_set_id, 'debug.file_size') AS file_size,
  extract_arg(slice.arg_set_id, 'debug.sha256') AS sha256,
  extract_arg(slice.arg_set_id, 'debug.rank') AS rank,
  extract_arg(slice.arg_set_id, 'debug.rank_evidence') AS rank_evidence,
  extract_arg(slice.arg_set_id, 'debug.world_size') AS world_size,
  extract_arg(slice.arg_set_id, 'debug.framework') AS framework,
  extract_arg(slice.arg_set_id, 'debug.gpu_name') AS gpu_name,
  extract_arg(slice.arg_set_id, 'debug.gpu_count') AS gpu_count,
  extract_arg(slice.arg_set_id, 'debug.runtime') AS runtime,
  extract_arg(slice.arg_set_id, 'debug.collective_library')
    AS collective_library,
  extract_arg(slice.arg_set_id, 'debug.trace_name') AS trace_name,
  extract_arg(slice.arg_set_id, 'debug.base_time_ns') AS base_time_ns,
  extract_arg(slice.arg_set_id, 'debug.event_count') AS event_count,
  extract_arg(slice.arg_set_id, 'debug.kernel_count') AS kernel_count,
  extract_arg(slice.arg_set_id, 'debug.memcpy_count') AS memcpy_count,
  extract_arg(slice.arg_set_id, 'debug.memset_count') AS memset_count,
  extract_arg(slice.arg_set_id, 'debug.launch_count') AS launch_count,
  extract_arg(slice.arg_set_id, 'debug.annotation_count') AS annotation_count,
  extract_arg(slice.arg_set_id, 'debug.repairs') AS repairs,
  extract_arg(slice.arg_set_id, 'debug.left_out') AS left_out,
  extract_arg(slice.arg_set_id, 'debug.metadata') AS metadata,
  extract_arg(slice.arg_set_id, 'debug.run_id') AS run_id
FROM slice
WHERE
  slice.category = 'autoviz.capture'
ORDER BY
  slice.id;
