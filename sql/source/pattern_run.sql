-- One contiguous execution of a pattern.
CREATE OR REPLACE PERFETTO TABLE _autoviz_src_pattern_run(
  -- Start in ns; NULL if no device activity belongs to the row.
  ts LONG,
  -- Duration in ns; NULL if no device activity belongs to the row.
  dur LONG,
  -- Number of the run, unique over all ranks.
  id LONG,
  -- The pattern.
  pattern_id LONG,
  -- Level of the pattern.
  level LONG,
  -- The run that it lies in.
  parent_id LONG,
  -- Number among the runs of its pattern on its rank, from 0.
  number LONG,
  -- Device it ran on.
  device LONG,
  -- Stream it ran on; NULL if it may be spread over several.
  stream LONG,
  -- Positions that did not run.
  missing LONG,
  -- Activities, or repeats, that are not in the pattern.
  extra LONG,
  -- Positions at which something else ran.
  swapped LONG
) AS
SELECT
  iif(track.name = 'autoviz data', NULL, slice.ts) AS ts,
  iif(track.name = 'autoviz data', NULL, slice.dur) AS dur,
  extract_arg(slice.arg_set_id, 'debug.id') AS id,
  extract_arg(slice.arg_set_id, 'debug.pattern_id') AS pattern_id,
  extract_arg(slice.arg_set_id, 'debug.level') AS level,
  extract_arg(slice.arg_set_id, 'debug.parent_id') AS parent_id,
  extract_arg(slice.arg_set_id, 'debug.number') AS number,
  extract_arg(slice.arg_set_id, 'debug.device') AS device,
  extract_arg(slice.arg_set_id, 'debug.stream') AS stream,
  extract_arg(slice.arg_set_id, 'debug.missing') AS missing,
  extract_arg(slice.arg_set_id, 'debug.extra') AS extra,
  extract_arg(slice.arg_set_id, 'debug.swapped') AS swapped
FROM slice
JOIN track ON track.id = slice.track_id
WHERE
  slice.category = 'autoviz.pattern_run'
ORDER BY
  extract_arg(slice.arg_set_id, 'debug.id'), slice.id;
