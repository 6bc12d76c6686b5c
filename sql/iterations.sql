INCLUDE PERFETTO MODULE autoviz.device_slice;

INCLUDE PERFETTO MODULE autoviz.source.capture;

INCLUDE PERFETTO MODULE autoviz.source.iteration;

INCLUDE PERFETTO MODULE autoviz.source.iteration_evidence;

INCLUDE PERFETTO MODULE autoviz.source.iteration_segment;

-- Steps of the engine, and steps inside steps at higher levels.
CREATE OR REPLACE PERFETTO VIEW autoviz_iteration(
  -- Number of the iteration in the capture, from 0.
  id LONG,
  -- Rank of the recorded process. NULL if unknown.
  rank LONG,
  -- Start in ns of its first device activity. NULL if it has none.
  ts TIMESTAMP,
  -- Time in ns from there to the end of its last device activity.
  dur DURATION,
  -- 0 for an outermost iteration, 1 for one inside it, and so on.
  level LONG,
  -- The iteration it lies in. NULL for an outermost one.
  parent_id LONG,
  -- Number among the real iterations of its level, from 0. NULL for others.
  number LONG,
  -- step, generation, dummy (padding or warm-up), capture (of a graph), warm-up
  -- or wrap-up (work before the first and after the last inferred step).
  kind STRING,
  -- 1 for a step or a generation, 0 for all others.
  is_real LONG,
  -- Text of the annotation, or name of the call, that it was derived from. NULL
  -- where it was found in the sequence of the kernels.
  name STRING,
  -- Whose annotation that is. NULL without a known annotation.
  dialect STRING,
  -- What the iteration and its device activities were derived from.
  evidence STRING,
  -- How sure that is, from 0 to 1.
  confidence DOUBLE,
  -- Start of the host span in ns. NULL without one.
  host_ts LONG,
  -- Duration of the host span in ns. NULL without one.
  host_dur LONG,
  -- Kernels, copies and fills that belong to it.
  activity_count LONG,
  -- Kernels that belong to it.
  kernel_count LONG,
  -- Time in ns in which at least one of them ran.
  busy_dur LONG,
  -- What starting to record has changed in it. NULL if nothing is known.
  distorted STRING
) AS
SELECT
  id,
  (SELECT rank FROM _autoviz_src_capture) AS rank,
  ts,
  dur,
  level,
  parent_id,
  number,
  kind,
  kind IN ('step', 'generation') AS is_real,
  name,
  dialect,
  evidence,
  confidence,
  host_ts,
  host_dur,
  activity_count,
  kernel_count,
  busy_dur,
  distorted
FROM _autoviz_src_iteration;

-- Kinds of evidence that were tried for iterations, in order. The last row's
-- iterations are used, unless it is not splittable.
CREATE OR REPLACE PERFETTO VIEW autoviz_iteration_evidence(
  -- Order in which it was tried, from 0.
  number LONG,
  -- Rank of the recorded process. NULL if unknown.
  rank LONG,
  -- What was tried.
  evidence STRING,
  -- Outermost real iterations that it gives.
  iterations LONG,
  -- Share of the device time in the outermost iterations, together with what
  -- lies before the first and after the last.
  coverage DOUBLE,
  -- good (at least 0.95 of the device time), degraded (at least 0.75) or not
  -- splittable.
  grade STRING,
  -- Why it is not good. NULL if it is.
  reason STRING
) AS
SELECT
  number,
  (SELECT rank FROM _autoviz_src_capture) AS rank,
  evidence,
  iterations,
  coverage,
  grade,
  reason
FROM _autoviz_src_iteration_evidence;

-- First device activity of each stretch that belongs to an iteration.
CREATE OR REPLACE PERFETTO TABLE _autoviz_iteration_stretch(
  -- The iteration.
  iteration_id LONG,
  -- Number of the first device activity.
  first_seq LONG,
  -- Device activities of the stretch.
  activity_count LONG
) AS
SELECT
  segment.iteration_id AS iteration_id,
  min(kernel.seq) + segment.first_tie AS first_seq,
  segment.activity_count AS activity_count
FROM _autoviz_src_iteration_segment AS segment
JOIN _autoviz_device_slice AS kernel
  ON kernel.ts = segment.first_ts
  AND kernel.dur = segment.first_dur
  AND kernel.pid IS segment.first_pid
  AND kernel.tid IS segment.first_tid
  AND kernel.correlation IS segment.first_correlation
GROUP BY
  segment.iteration_id,
  segment.first_ts,
  segment.first_dur,
  segment.first_pid,
  segment.first_tid,
  segment.first_correlation,
  segment.first_tie
ORDER BY
  first_seq;

-- Which device activities belong to which iteration, and where in it they are.
CREATE OR REPLACE PERFETTO TABLE autoviz_iteration_kernel(
  -- The iteration.
  iteration_id LONG,
  -- Device the activity ran on.
  device LONG,
  -- Position among the iteration's activities on that device, from 0.
  position LONG,
  -- Number of the activity; joins autoviz_kernel.seq.
  seq LONG
) AS
SELECT
  stretch.iteration_id AS iteration_id,
  kernel.device AS device,
  row_number() OVER (
    PARTITION BY stretch.iteration_id, kernel.device
    ORDER BY kernel.seq
  ) - 1 AS position,
  kernel.seq AS seq
FROM _autoviz_iteration_stretch AS stretch
JOIN _autoviz_device_slice AS kernel
  ON kernel.seq BETWEEN stretch.first_seq
    AND stretch.first_seq + stretch.activity_count - 1;
