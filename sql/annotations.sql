INCLUDE PERFETTO MODULE autoviz.device_slice;

-- Spans that somebody named: on the host by the framework or the profiler, on
-- a stream by the profiler, once per stream that did some of the span's work.
CREATE OR REPLACE PERFETTO VIEW _autoviz_annotation(
  -- Slice of the annotation.
  id LONG,
  -- Start in ns.
  ts TIMESTAMP,
  -- Duration in ns.
  dur DURATION,
  -- Text.
  name STRING,
  -- 1 if the span lies on a stream of a device, 0 if on a host thread.
  on_device LONG,
  -- Process number as recorded.
  pid LONG,
  -- Thread number as recorded.
  tid LONG,
  -- Thread.
  utid LONG
) AS
SELECT
  slice.id AS id,
  slice.ts AS ts,
  slice.dur AS dur,
  slice.name AS name,
  slice.category = 'gpu_user_annotation' AS on_device,
  track.pid AS pid,
  track.tid AS tid,
  track.utid AS utid
FROM slice
JOIN _autoviz_track AS track
  USING (track_id)
WHERE
  -- Everything but the categories that hold nothing but calls and work: some
  -- profilers have categories of their own for ranges that users name.
  (
    coalesce(slice.category, '') NOT IN (
      'kernel', 'gpu_memcpy', 'gpu_memset', 'Kernel', 'Memcpy', 'Memset',
      'cuda_runtime', 'cuda_driver', 'hip_runtime', 'hip_driver', 'Runtime',
      'cpu_op', 'Operator', 'python_function', 'overhead', 'cuda_sync',
      'cpu_instant_event')
    -- Old profilers record their own steps as operators.
    OR slice.category = 'Operator' AND slice.name GLOB 'ProfilerStep#*'
  )
  AND slice.dur >= 0;
