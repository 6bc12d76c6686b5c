INCLUDE PERFETTO MODULE autoviz.device_slice;

-- Calls of Python functions and modules that are long enough to be an engine
-- step: launching a few kernels takes as long.
CREATE OR REPLACE PERFETTO VIEW _autoviz_host_call(
  -- Start in ns.
  ts TIMESTAMP,
  -- Duration in ns.
  dur DURATION,
  -- Name as recorded.
  name STRING,
  -- Process number as recorded.
  pid LONG,
  -- Thread.
  utid LONG
) AS
SELECT
  slice.ts AS ts,
  slice.dur AS dur,
  slice.name AS name,
  track.pid AS pid,
  track.utid AS utid
FROM slice
JOIN _autoviz_track AS track
  USING (track_id)
WHERE
  slice.category = 'python_function' AND slice.dur >= 20000;
