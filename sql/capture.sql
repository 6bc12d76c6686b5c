INCLUDE PERFETTO MODULE autoviz.device_slice;

INCLUDE PERFETTO MODULE autoviz.source.capture;

-- The capture: who recorded it, on what, what was repaired, and whether the
-- engine holds all of it. No row in a capture that has not been annotated.
CREATE OR REPLACE PERFETTO VIEW autoviz_capture(
  -- Version of the stored relations.
  schema_version LONG,
  -- Version of the package that wrote them.
  autoviz_version STRING,
  -- Name of the capture file, without its folder.
  file_name STRING,
  -- Size of the capture file in bytes.
  file_size LONG,
  -- SHA-256 of the capture file, in hex.
  sha256 STRING,
  -- Rank of the recorded process. NULL if unknown.
  rank LONG,
  -- Where the rank is from: metadata, file name or argument.
  rank_evidence STRING,
  -- Number of ranks of the run.
  world_size LONG,
  -- Serving framework by its annotations.
  framework STRING,
  -- Name of the device that the kernels ran on.
  gpu_name STRING,
  -- Number of devices that the profiler lists.
  gpu_count LONG,
  -- GPU runtime and its version.
  runtime STRING,
  -- NCCL or RCCL and its version.
  collective_library STRING,
  -- The capture's own name for itself.
  trace_name STRING,
  -- Epoch offset of the capture's clock in ns.
  base_time_ns LONG,
  -- Events in the file.
  event_count LONG,
  -- Kernels in the file, by an independent scan.
  kernel_count LONG,
  -- Copies in the file, by an independent scan.
  memcpy_count LONG,
  -- Fills in the file, by an independent scan.
  memset_count LONG,
  -- Calls of the runtime and the driver in the file.
  launch_count LONG,
  -- Host and device annotations in the file.
  annotation_count LONG,
  -- Device activities that this engine holds.
  loaded_count LONG,
  -- What is missing here, in words. NULL if nothing is.
  warning STRING,
  -- What was repaired before loading, as a JSON list.
  repairs STRING,
  -- Categories left out by a light load, comma-separated.
  left_out STRING,
  -- Other top-level metadata of the capture, as JSON.
  metadata STRING,
  -- Shared by all ranks that were annotated together.
  run_id STRING
) AS
WITH
  loaded AS (
    SELECT
      count() AS total
    FROM _autoviz_device_slice
  )
SELECT
  capture.schema_version,
  capture.autoviz_version,
  capture.file_name,
  capture.file_size,
  capture.sha256,
  capture.rank,
  capture.rank_evidence,
  capture.world_size,
  capture.framework,
  capture.gpu_name,
  capture.gpu_count,
  capture.runtime,
  capture.collective_library,
  capture.trace_name,
  capture.base_time_ns,
  capture.event_count,
  capture.kernel_count,
  capture.memcpy_count,
  capture.memset_count,
  capture.launch_count,
  capture.annotation_count,
  loaded.total AS loaded_count,
  CASE
    WHEN
      loaded.total
      < capture.kernel_count + capture.memcpy_count + capture.memset_count
      THEN format(
        '%d of %d device activities are missing: engines up to v56 drop '
        || 'activities that overlap on a stream; open the file with '
        || 'autoviz, or in v57 or later',
        capture.kernel_count + capture.memcpy_count + capture.memset_count
        - loaded.total,
        capture.kernel_count + capture.memcpy_count + capture.memset_count)
  END AS warning,
  capture.repairs,
  capture.left_out,
  capture.metadata,
  capture.run_id
FROM _autoviz_src_capture AS capture
CROSS JOIN loaded;
