INCLUDE PERFETTO MODULE autoviz.device_slice;

-- Calls of nn.Module objects, where the profiler recorded Python stacks.
CREATE OR REPLACE PERFETTO VIEW _autoviz_module_call(
  -- Start in ns.
  ts TIMESTAMP,
  -- Duration in ns.
  dur DURATION,
  -- Class of the module and number of the object, e.g. DecoderLayer_12.
  name STRING,
  -- Thread of the call.
  utid LONG
) AS
SELECT
  slice.ts AS ts,
  slice.dur AS dur,
  substr(slice.name, length('nn.Module: ') + 1) AS name,
  track.utid AS utid
FROM slice
JOIN _autoviz_track AS track
  USING (track_id)
WHERE
  slice.category = 'python_function' AND slice.name GLOB 'nn.Module: *';
