INCLUDE PERFETTO MODULE autoviz.kernels;

INCLUDE PERFETTO MODULE autoviz.source.pattern;

INCLUDE PERFETTO MODULE autoviz.source.pattern_position;

INCLUDE PERFETTO MODULE autoviz.source.pattern_run;

INCLUDE PERFETTO MODULE autoviz.source.pattern_segment;

-- Sequences of device activities that repeat, found over all ranks together.
CREATE OR REPLACE PERFETTO VIEW autoviz_pattern(
  -- Number of the pattern in the run, from 0.
  id LONG,
  -- P1 for an outermost loop, P1.2 for the second one inside it; the same on
  -- every rank, in order of device time.
  name STRING,
  -- 0 for an outermost loop, 1 for one inside it, and so on.
  level LONG,
  -- The pattern whose runs hold most of its time. NULL for an outermost one.
  parent_id LONG,
  -- Positions: device activities, and repeats of inner loops.
  length LONG,
  -- Device activities of a typical run, those of inner loops included.
  kernel_count LONG,
  -- Runs on all ranks.
  run_count LONG,
  -- Median time in ns from the start of one run to the next. 0 for one run.
  period LONG,
  -- Sum in ns of the durations of all its runs' activities, on all ranks.
  total_dur LONG,
  -- Ranks that run it, comma-separated.
  ranks STRING
) AS
SELECT
  id,
  name,
  level,
  parent_id,
  length,
  kernel_count,
  run_count,
  period,
  total_dur,
  ranks
FROM _autoviz_src_pattern;

-- Positions of patterns, with statistics over all runs on all ranks.
CREATE OR REPLACE PERFETTO VIEW autoviz_pattern_position(
  -- The pattern.
  pattern_id LONG,
  -- Number of the position, from 0.
  position LONG,
  -- Canonical operation. NULL at a repeat of an inner loop.
  op STRING,
  -- The pattern that repeats here. NULL at an activity.
  inner_id LONG,
  -- 0 where it mostly runs on its device's busiest stream, 1 on the next.
  stream_role LONG,
  -- Device activities that ran there, or repeats of the inner loop.
  kernel_count LONG,
  -- Sum of their durations in ns.
  total_dur LONG,
  -- Mean duration in ns.
  mean_dur DOUBLE,
  -- Standard deviation of the duration in ns.
  std_dur DOUBLE,
  -- Shortest duration in ns.
  min_dur LONG,
  -- Median duration in ns.
  median_dur DOUBLE,
  -- Longest duration in ns.
  max_dur LONG
) AS
SELECT
  pattern_id,
  position,
  op,
  inner_id,
  stream_role,
  kernel_count,
  total_dur,
  mean_dur,
  std_dur,
  min_dur,
  median_dur,
  max_dur
FROM _autoviz_src_pattern_position;

-- Contiguous executions of patterns on this rank.
CREATE OR REPLACE PERFETTO VIEW autoviz_pattern_run(
  -- Number of the run, unique over all ranks.
  id LONG,
  -- Rank of the recorded process. NULL if unknown.
  rank LONG,
  -- Start in ns of its first device activity.
  ts TIMESTAMP,
  -- Time in ns from there to the end of its last device activity.
  dur DURATION,
  -- The pattern.
  pattern_id LONG,
  -- Name of the pattern.
  pattern STRING,
  -- Level of the pattern.
  level LONG,
  -- The run that it lies in. NULL for an outermost one.
  parent_id LONG,
  -- Number among the runs of its pattern on this rank, from 0.
  number LONG,
  -- Device it ran on.
  device LONG,
  -- Stream it ran on. NULL if it may be spread over several.
  stream LONG,
  -- Positions that did not run.
  missing LONG,
  -- Activities, or repeats of inner loops, that are not in the pattern.
  extra LONG,
  -- Positions at which something else ran.
  swapped LONG
) AS
SELECT
  run.id,
  (SELECT rank FROM _autoviz_src_capture) AS rank,
  run.ts,
  run.dur,
  run.pattern_id,
  pattern.name AS pattern,
  run.level,
  run.parent_id,
  run.number,
  run.device,
  run.stream,
  run.missing,
  run.extra,
  run.swapped
FROM _autoviz_src_pattern_run AS run
JOIN _autoviz_src_pattern AS pattern
  ON pattern.id = run.pattern_id;

-- Device activities in the order in which loops were looked for: device by
-- device, or stream by stream.
CREATE OR REPLACE PERFETTO TABLE _autoviz_pattern_order(
  -- Number in that order.
  place LONG,
  -- Number of the activity.
  seq LONG
) AS
WITH
  how AS (
    SELECT
      max(by_stream) AS by_stream
    FROM _autoviz_src_pattern_segment
  )
SELECT
  row_number() OVER () - 1 AS place,
  seq
FROM (
  SELECT
    seq
  FROM _autoviz_device_slice
  CROSS JOIN how
  ORDER BY
    device,
    iif(how.by_stream, stream, NULL),
    ts,
    stream,
    seq
);

CREATE OR REPLACE PERFETTO INDEX _autoviz_pattern_order_seq
ON _autoviz_pattern_order(seq);

CREATE OR REPLACE PERFETTO INDEX _autoviz_pattern_order_place
ON _autoviz_pattern_order(place);

-- Segments with the place of their first activity.
CREATE OR REPLACE PERFETTO TABLE _autoviz_pattern_stretch(
  -- The run.
  run_id LONG,
  -- Position of the first activity. NULL for extra ones.
  position LONG,
  -- plain, extra or swapped.
  kind STRING,
  -- Place of the first activity.
  first_place LONG,
  -- Device activities of the stretch.
  activity_count LONG
) AS
WITH
  found AS (
    SELECT
      segment.run_id AS run_id,
      segment.position AS position,
      segment.kind AS kind,
      min(kernel.seq) + segment.first_tie AS first_seq,
      segment.activity_count AS activity_count
    FROM _autoviz_src_pattern_segment AS segment
    JOIN _autoviz_device_slice AS kernel
      ON kernel.ts = segment.first_ts
      AND kernel.dur = segment.first_dur
      AND kernel.pid IS segment.first_pid
      AND kernel.tid IS segment.first_tid
      AND kernel.correlation IS segment.first_correlation
    GROUP BY
      segment.run_id,
      segment.position,
      segment.first_ts,
      segment.first_dur,
      segment.first_pid,
      segment.first_tid,
      segment.first_correlation,
      segment.first_tie
  )
SELECT
  found.run_id AS run_id,
  found.position AS position,
  found.kind AS kind,
  pattern_order.place AS first_place,
  found.activity_count AS activity_count
FROM found
JOIN _autoviz_pattern_order AS pattern_order
  ON pattern_order.seq = found.first_seq
ORDER BY
  first_place;

-- The place of each device activity in the innermost run that it belongs to.
CREATE OR REPLACE PERFETTO TABLE autoviz_pattern_kernel(
  -- Number of the activity; joins autoviz_kernel.seq.
  seq LONG,
  -- The run.
  run_id LONG,
  -- The pattern.
  pattern_id LONG,
  -- Position in the pattern. NULL for an activity that is not in it.
  position LONG,
  -- plain, extra (not in the pattern) or swapped (another one than usual).
  kind STRING
) AS
SELECT
  pattern_order.seq AS seq,
  stretch.run_id AS run_id,
  run.pattern_id AS pattern_id,
  stretch.position + pattern_order.place - stretch.first_place AS position,
  stretch.kind AS kind
FROM _autoviz_pattern_stretch AS stretch
JOIN _autoviz_src_pattern_run AS run
  ON run.id = stretch.run_id
JOIN _autoviz_pattern_order AS pattern_order
  ON pattern_order.place BETWEEN stretch.first_place
    AND stretch.first_place + stretch.activity_count - 1
ORDER BY
  seq;

-- Launch shapes of the kernels at each position of a pattern on this rank.
CREATE OR REPLACE PERFETTO VIEW autoviz_pattern_variant(
  -- The pattern.
  pattern_id LONG,
  -- Position in the pattern.
  position LONG,
  -- Name of the kernel as recorded.
  name STRING,
  -- Blocks of the grid, as x,y,z. NULL if not recorded.
  grid STRING,
  -- Threads of a block, as x,y,z. NULL if not recorded.
  block STRING,
  -- Registers of a thread. NULL if not recorded.
  registers LONG,
  -- Shared memory (LDS) of a block in bytes. NULL if not recorded.
  shared_memory LONG,
  -- Kernels launched so.
  kernel_count LONG,
  -- Mean duration in ns.
  mean_dur DOUBLE,
  -- Sum of the durations in ns.
  total_dur LONG
) AS
SELECT
  member.pattern_id,
  member.position,
  kernel.name,
  kernel.grid_x || ',' || kernel.grid_y || ',' || kernel.grid_z AS grid,
  kernel.block_x || ',' || kernel.block_y || ',' || kernel.block_z AS block,
  kernel.registers,
  kernel.shared_memory,
  count() AS kernel_count,
  avg(kernel.dur) AS mean_dur,
  sum(kernel.dur) AS total_dur
FROM autoviz_pattern_kernel AS member
JOIN autoviz_kernel AS kernel
  ON kernel.seq = member.seq
WHERE
  member.position IS NOT NULL
GROUP BY
  1,
  2,
  3,
  4,
  5,
  6,
  7
ORDER BY
  1,
  2,
  10 DESC;
