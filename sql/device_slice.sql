-- The tracks of threads, under the numbers that were recorded. A load into an
-- engine that drops overlapping slices moves them to lane threads, whose names
-- start with the number of the thread they come from.
CREATE OR REPLACE PERFETTO TABLE _autoviz_track(
  -- Track of slices.
  track_id LONG,
  -- Thread, the same for a thread and its lanes.
  utid LONG,
  -- Process number as recorded.
  pid LONG,
  -- Thread number as recorded; for device activities the stream.
  tid LONG
) AS
WITH
  recorded AS (
    SELECT
      track.id AS track_id,
      thread.utid AS utid,
      thread.upid AS upid,
      iif(
        thread.name GLOB '* (autoviz lane *)',
        CAST(
          substr(thread.name, 1, instr(thread.name, ' (autoviz') - 1) AS INTEGER
        ),
        thread.tid
      ) AS tid
    FROM track
    JOIN thread
      ON thread.utid = extract_arg(track.dimension_arg_set_id, 'utid')
    -- An overlap track has another type and the thread of the track it helps.
    WHERE
      track.type GLOB 'thread_*'
  )
SELECT
  recorded.track_id AS track_id,
  min(recorded.utid) OVER (PARTITION BY recorded.upid, recorded.tid) AS utid,
  process.pid AS pid,
  recorded.tid AS tid
FROM recorded
LEFT JOIN process
  USING (upid)
ORDER BY
  track_id;

-- Device activities from JSON captures, whose category says what they are, and
-- from native GPU render stages.
CREATE OR REPLACE PERFETTO VIEW _autoviz_device_event(
  -- Slice of the activity.
  id LONG,
  -- Start in ns.
  ts TIMESTAMP,
  -- Duration in ns.
  dur DURATION,
  -- Name as recorded.
  name STRING,
  -- kernel, memcpy or memset.
  kind STRING,
  -- Device number.
  device LONG,
  -- Stream number.
  stream LONG,
  -- Process number as recorded.
  pid LONG,
  -- Thread number as recorded.
  tid LONG,
  -- Number that the launch shares.
  correlation LONG,
  -- Arguments of the slice.
  arg_set_id ARGSETID
) AS
SELECT
  slice.id AS id,
  slice.ts AS ts,
  slice.dur AS dur,
  slice.name AS name,
  CASE slice.category
    WHEN 'kernel' THEN 'kernel'
    WHEN 'Kernel' THEN 'kernel'
    WHEN 'gpu_memcpy' THEN 'memcpy'
    WHEN 'Memcpy' THEN 'memcpy'
    ELSE 'memset'
  END AS kind,
  -- Some profilers write numbers as texts.
  coalesce(
    CAST(extract_arg(slice.arg_set_id, 'args.device') AS INTEGER), track.pid
  ) AS device,
  coalesce(
    CAST(extract_arg(slice.arg_set_id, 'args.stream') AS INTEGER), track.tid
  ) AS stream,
  track.pid AS pid,
  track.tid AS tid,
  CAST(extract_arg(slice.arg_set_id, 'args.correlation') AS INTEGER)
    AS correlation,
  slice.arg_set_id AS arg_set_id
FROM slice
JOIN _autoviz_track AS track
  USING (track_id)
WHERE
  slice.category IN (
    'kernel', 'gpu_memcpy', 'gpu_memset', 'Kernel', 'Memcpy', 'Memset')
UNION ALL
SELECT
  gpu_slice.id AS id,
  gpu_slice.ts AS ts,
  gpu_slice.dur AS dur,
  gpu_slice.name AS name,
  CASE
    WHEN lower(gpu_slice.name) GLOB 'memcpy*' THEN 'memcpy'
    WHEN lower(gpu_slice.name) GLOB 'memset*' THEN 'memset'
    ELSE 'kernel'
  END AS kind,
  coalesce(
    extract_arg(gpu_track.dimension_arg_set_id, 'ugpu'),
    extract_arg(gpu_track.dimension_arg_set_id, 'gpu'),
    0
  ) AS device,
  coalesce(gpu_slice.hw_queue_id, gpu_slice.track_id) AS stream,
  process.pid AS pid,
  gpu_slice.hw_queue_id AS tid,
  CAST(extract_arg(gpu_slice.arg_set_id, 'correlation_id') AS INTEGER)
    AS correlation,
  gpu_slice.arg_set_id AS arg_set_id
FROM gpu_slice
LEFT JOIN gpu_track
  ON gpu_track.id = gpu_slice.track_id
LEFT JOIN process
  USING (upid);

-- All device activities in the one order that every engine and every file
-- agrees on, so that a count from a first activity names a set of them.
CREATE OR REPLACE PERFETTO TABLE _autoviz_ordered_device_event(
  -- Slice of the activity.
  id LONG,
  -- Start in ns.
  ts TIMESTAMP,
  -- Duration in ns.
  dur DURATION,
  -- Name as recorded.
  name STRING,
  -- kernel, memcpy or memset.
  kind STRING,
  -- Device number.
  device LONG,
  -- Stream number.
  stream LONG,
  -- Process number as recorded.
  pid LONG,
  -- Thread number as recorded.
  tid LONG,
  -- Number that the launch shares.
  correlation LONG,
  -- Arguments of the slice.
  arg_set_id ARGSETID
) AS
SELECT
  *
FROM _autoviz_device_event
ORDER BY
  ts,
  dur,
  pid,
  tid,
  correlation,
  name,
  id;

-- The same with their numbers. Every table numbers its rows in a hidden column,
-- which costs nothing; a window function takes longer than the sort.
CREATE OR REPLACE PERFETTO VIEW _autoviz_device_slice(
  -- Number in the order of the durable key.
  seq LONG,
  -- Slice of the activity.
  id LONG,
  -- Start in ns.
  ts TIMESTAMP,
  -- Duration in ns.
  dur DURATION,
  -- Name as recorded.
  name STRING,
  -- kernel, memcpy or memset.
  kind STRING,
  -- Device number.
  device LONG,
  -- Stream number.
  stream LONG,
  -- Process number as recorded.
  pid LONG,
  -- Thread number as recorded.
  tid LONG,
  -- Number that the launch shares.
  correlation LONG,
  -- Arguments of the slice.
  arg_set_id ARGSETID
) AS
SELECT
  _auto_id AS seq,
  id,
  ts,
  dur,
  name,
  kind,
  device,
  stream,
  pid,
  tid,
  correlation,
  arg_set_id
FROM _autoviz_ordered_device_event;
