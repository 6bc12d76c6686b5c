-- A device activity that is to blame for an abnormal run. One that is missing
-- has no time.
CREATE OR REPLACE PERFETTO TABLE _autoviz_src_kernel_anomaly(
  -- Start in ns; NULL if no device activity belongs to the row.
  ts LONG,
  -- Duration in ns; NULL if no device activity belongs to the row.
  dur LONG,
  -- Number of the row, unique over all ranks.
  id LONG,
  -- The abnormal run.
  run_anomaly_id LONG,
  -- The run.
  run_id LONG,
  -- Position in the run, repeats of inner loops counted out.
  position LONG,
  -- Canonical operation; of a missing one, that which should run.
  op STRING,
  -- plain, missing, extra or swapped.
  kind STRING,
  -- The test that flags the run.
  test STRING,
  -- run time, idle time (before it) or order.
  channel STRING,
  -- How far from normal, in the unit of the threshold.
  score DOUBLE,
  -- What the largest score of a normal run may reach.
  threshold DOUBLE,
  -- Time in ns beyond the normal one; negative if shorter.
  excess LONG,
  -- Part of the run's excess.
  share DOUBLE,
  -- Normal time in ns; negative if it normally overlaps.
  normal DOUBLE,
  -- Robust standard deviation of the normal time in ns.
  spread DOUBLE,
  -- Place among what is to blame for the run, from 1.
  ranking LONG,
  -- What is abnormal, in words.
  explanation STRING,
  -- Process of the activity.
  pid LONG,
  -- Thread of the activity.
  tid LONG,
  -- Correlation of the activity.
  correlation LONG,
  -- Number among activities equal in time and all of these.
  tie LONG
) AS
SELECT
  iif(track.name = 'autoviz data', NULL, slice.ts) AS ts,
  iif(track.name = 'autoviz data', NULL, slice.dur) AS dur,
  extract_arg(slice.arg_set_id, 'debug.id') AS id,
  extract_arg(slice.arg_set_id, 'debug.run_anomaly_id') AS run_anomaly_id,
  extract_arg(slice.arg_set_id, 'debug.run_id') AS run_id,
  extract_arg(slice.arg_set_id, 'debug.position') AS position,
  extract_arg(slice.arg_set_id, 'debug.op') AS op,
  extract_arg(slice.arg_set_id, 'debug.kind') AS kind,
  extract_arg(slice.arg_set_id, 'debug.test') AS test,
  extract_arg(slice.arg_set_id, 'debug.channel') AS channel,
  extract_arg(slice.arg_set_id, 'debug.score') AS score,
  extract_arg(slice.arg_set_id, 'debug.threshold') AS threshold,
  extract_arg(slice.arg_set_id, 'debug.excess') AS excess,
  extract_arg(slice.arg_set_id, 'debug.share') AS share,
  extract_arg(slice.arg_set_id, 'debug.normal') AS normal,
  extract_arg(slice.arg_set_id, 'debug.spread') AS spread,
  extract_arg(slice.arg_set_id, 'debug.ranking') AS ranking,
  extract_arg(slice.arg_set_id, 'debug.explanation') AS explanation,
  extract_arg(slice.arg_set_id, 'debug.pid') AS pid,
  extract_arg(slice.arg_set_id, 'debug.tid') AS tid,
  extract_arg(slice.arg_set_id, 'debug.correlation') AS correlation,
  extract_arg(slice.arg_set_id, 'debug.tie') AS tie
FROM slice
JOIN track ON track.id = slice.track_id
WHERE
  slice.category = 'autoviz.kernel_anomaly'
ORDER BY
  extract_arg(slice.arg_set_id, 'debug.id'), slice.id;
