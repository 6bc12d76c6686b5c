-- A run of a pattern that a test flags.
CREATE OR REPLACE PERFETTO TABLE _autoviz_src_run_anomaly(
  -- Start in ns; NULL if no device activity belongs to the row.
  ts LONG,
  -- Duration in ns; NULL if no device activity belongs to the row.
  dur LONG,
  -- Number of the row, unique over all ranks.
  id LONG,
  -- The run.
  run_id LONG,
  -- The pattern.
  pattern_id LONG,
  -- Level of the pattern.
  level LONG,
  -- The group that it was compared with.
  group_id LONG,
  -- The most specific test that flags it: sequence, kernel, drift or duration.
  test STRING,
  -- All tests that flag it, comma-separated.
  tests STRING,
  -- slow or fast.
  side STRING,
  -- Score of the test.
  score DOUBLE,
  -- What the score exceeds.
  threshold DOUBLE,
  -- run time, idle time or order.
  channel STRING,
  -- Duration in ns beyond the normal one; negative if shorter.
  excess LONG,
  -- Place by the size of the excess over all ranks, from 1.
  ranking LONG,
  -- What is abnormal, in words.
  explanation STRING
) AS
SELECT
  iif(track.name = 'autoviz data', NULL, slice.ts) AS ts,
  iif(track.name = 'autoviz data', NULL, slice.dur) AS dur,
  extract_arg(slice.arg_set_id, 'debug.id') AS id,
  extract_arg(slice.arg_set_id, 'debug.run_id') AS run_id,
  extract_arg(slice.arg_set_id, 'debug.pattern_id') AS pattern_id,
  extract_arg(slice.arg_set_id, 'debug.level') AS level,
  extract_arg(slice.arg_set_id, 'debug.group_id') AS group_id,
  extract_arg(slice.arg_set_id, 'debug.test') AS test,
  extract_arg(slice.arg_set_id, 'debug.tests') AS tests,
  extract_arg(slice.arg_set_id, 'debug.side') AS side,
  extract_arg(slice.arg_set_id, 'debug.score') AS score,
  extract_arg(slice.arg_set_id, 'debug.threshold') AS threshold,
  extract_arg(slice.arg_set_id, 'debug.channel') AS channel,
  extract_arg(slice.arg_set_id, 'debug.excess') AS excess,
  extract_arg(slice.arg_set_id, 'debug.ranking') AS ranking,
  extract_arg(slice.arg_set_id, 'debug.explanation') AS explanation
FROM slice
JOIN track ON track.id = slice.track_id
WHERE
  slice.category = 'autoviz.run_anomaly'
ORDER BY
  extract_arg(slice.arg_set_id, 'debug.id'), slice.id;
