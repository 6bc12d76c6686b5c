INCLUDE PERFETTO MODULE autoviz.iterations;

INCLUDE PERFETTO MODULE autoviz.kernels;

INCLUDE PERFETTO MODULE autoviz.phases;

-- What each activity adds to the time in which a stream is busy: the part of
-- it that lies beyond the end of everything before.
CREATE OR REPLACE PERFETTO VIEW _autoviz_stream_gain(
  -- Device number.
  device LONG,
  -- Stream number.
  stream LONG,
  -- compute, communication or copy.
  purpose STRING,
  -- Start in ns.
  ts TIMESTAMP,
  -- Duration in ns.
  dur DURATION,
  -- Time in ns that it adds.
  gain LONG
) AS
SELECT
  device,
  stream,
  purpose,
  ts,
  dur,
  max(0, ts + dur - max(ts, coalesce(stream_end, ts))) AS gain
FROM _autoviz_kernel;

-- How busy each stream was, from its first activity to its last.
CREATE OR REPLACE PERFETTO VIEW autoviz_stream_busy(
  -- Rank of the recorded process. NULL if unknown.
  rank LONG,
  -- Device number.
  device LONG,
  -- Stream number.
  stream LONG,
  -- Device activities on the stream.
  activity_count LONG,
  -- Start in ns of the first.
  ts TIMESTAMP,
  -- Wall time in ns from the first start to the last end.
  wall_dur LONG,
  -- Sum of all durations in ns; counts overlapping time more than once.
  sum_dur LONG,
  -- Time in ns in which at least one ran.
  busy_dur LONG,
  -- Wall time in ns in which none ran.
  idle_dur LONG,
  -- Sum in ns of the durations of computation.
  compute_dur LONG,
  -- Sum in ns of the durations of communication.
  communication_dur LONG,
  -- Sum in ns of the durations of copies and fills.
  copy_dur LONG
) AS
SELECT
  (SELECT rank FROM _autoviz_src_capture) AS rank,
  device,
  stream,
  count() AS activity_count,
  min(ts) AS ts,
  max(ts + dur) - min(ts) AS wall_dur,
  sum(dur) AS sum_dur,
  sum(gain) AS busy_dur,
  max(ts + dur) - min(ts) - sum(gain) AS idle_dur,
  sum(iif(purpose = 'compute', dur, 0)) AS compute_dur,
  sum(iif(purpose = 'communication', dur, 0)) AS communication_dur,
  sum(iif(purpose = 'copy', dur, 0)) AS copy_dur
FROM _autoviz_stream_gain
GROUP BY
  device,
  stream;

-- Where the device time of each iteration goes.
CREATE OR REPLACE PERFETTO TABLE autoviz_iteration_time(
  -- The iteration.
  iteration_id LONG,
  -- Rank of the recorded process. NULL if unknown.
  rank LONG,
  -- Device number.
  device LONG,
  -- Device activities.
  activity_count LONG,
  -- Wall time in ns from the first start to the last end.
  wall_dur LONG,
  -- Sum of all durations in ns; counts overlapping time more than once.
  sum_dur LONG,
  -- Time in ns in which at least one ran.
  busy_dur LONG,
  -- Wall time in ns in which none ran.
  idle_dur LONG,
  -- Time in ns in which at least one computation ran.
  compute_busy_dur LONG,
  -- Sum in ns of the durations of communication.
  communication_dur LONG,
  -- Time in ns in which nothing but communication ran.
  exposed_communication_dur LONG,
  -- Sum in ns of the durations of copies and fills.
  copy_dur LONG
) AS
WITH
  member AS (
    SELECT
      member.iteration_id AS iteration_id,
      member.device AS device,
      member.position AS position,
      kernel.purpose AS purpose,
      kernel.ts AS ts,
      kernel.dur AS dur,
      kernel.ts + kernel.dur AS finish
    FROM autoviz_iteration_kernel AS member
    JOIN _autoviz_kernel AS kernel
      ON kernel.seq = member.seq
  ),
  -- Latest end, before each activity, of what ran for which purpose: what lies
  -- beyond it is what the activity adds to the time busy with that.
  ordered AS (
    SELECT
      *,
      max(finish) OVER earlier AS any_end,
      max(iif(purpose != 'communication', finish, NULL)) OVER earlier
        AS other_end,
      max(iif(purpose = 'compute', finish, NULL)) OVER earlier AS compute_end
    FROM member
    WINDOW earlier AS (
      PARTITION BY iteration_id, device
      ORDER BY position
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
  ),
  gained AS (
    SELECT
      *,
      max(0, finish - max(ts, coalesce(any_end, ts))) AS gain,
      iif(
        purpose != 'communication',
        max(0, finish - max(ts, coalesce(other_end, ts))),
        0
      ) AS other_gain,
      iif(
        purpose = 'compute',
        max(0, finish - max(ts, coalesce(compute_end, ts))),
        0
      ) AS compute_gain
    FROM ordered
  )
SELECT
  iteration_id,
  (SELECT rank FROM _autoviz_src_capture) AS rank,
  device,
  count() AS activity_count,
  max(finish) - min(ts) AS wall_dur,
  sum(dur) AS sum_dur,
  sum(gain) AS busy_dur,
  max(finish) - min(ts) - sum(gain) AS idle_dur,
  sum(compute_gain) AS compute_busy_dur,
  sum(iif(purpose = 'communication', dur, 0)) AS communication_dur,
  sum(gain) - sum(other_gain) AS exposed_communication_dur,
  sum(iif(purpose = 'copy', dur, 0)) AS copy_dur
FROM gained
GROUP BY
  iteration_id,
  device
ORDER BY
  iteration_id,
  device;

-- Where the device time of all outermost iterations of a phase goes.
CREATE OR REPLACE PERFETTO VIEW autoviz_phase_time(
  -- Rank of the recorded process. NULL if unknown.
  rank LONG,
  -- Phase. NULL for iterations without one.
  phase STRING,
  -- Device number.
  device LONG,
  -- Iterations of the phase.
  iteration_count LONG,
  -- Sum of their wall times in ns.
  wall_dur LONG,
  -- Sum in ns of all durations.
  sum_dur LONG,
  -- Time in ns in which at least one device activity of an iteration ran.
  busy_dur LONG,
  -- Wall time in ns in which none ran.
  idle_dur LONG,
  -- Sum in ns of the durations of communication.
  communication_dur LONG,
  -- Time in ns in which nothing but communication ran.
  exposed_communication_dur LONG,
  -- Sum in ns of the durations of copies and fills.
  copy_dur LONG
) AS
SELECT
  (SELECT rank FROM _autoviz_src_capture) AS rank,
  phase.phase,
  time.device,
  count() AS iteration_count,
  sum(time.wall_dur) AS wall_dur,
  sum(time.sum_dur) AS sum_dur,
  sum(time.busy_dur) AS busy_dur,
  sum(time.idle_dur) AS idle_dur,
  sum(time.communication_dur) AS communication_dur,
  sum(time.exposed_communication_dur) AS exposed_communication_dur,
  sum(time.copy_dur) AS copy_dur
FROM autoviz_iteration_time AS time
JOIN _autoviz_src_iteration AS iteration
  ON iteration.id = time.iteration_id AND iteration.level = 0
LEFT JOIN _autoviz_src_phase AS phase
  ON phase.iteration_id = time.iteration_id
GROUP BY
  phase.phase,
  time.device;
