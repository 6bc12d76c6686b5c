-- A run of a pattern beside its partner in the other build.
CREATE OR REPLACE PERFETTO TABLE _autoviz_src_run_match(
  -- Start in ns; NULL if no device activity belongs to the row.
  ts LONG,
  -- Duration in ns; NULL if no device activity belongs to the row.
  dur LONG,
  -- The run.
  run_id LONG,
  -- The match; NULL if the pattern has no partner.
  match_id LONG,
  -- Level of the pattern.
  level LONG,
  -- Name of the pattern.
  pattern STRING,
  -- Name of the other build's pattern.
  partner STRING,
  -- Score of the match.
  score DOUBLE,
  -- Median time in ns of the partner's runs in steps of the same phase.
  partner_median DOUBLE,
  -- B less A in ns, of the run and that median.
  difference DOUBLE,
  -- The same relative to A.
  ratio DOUBLE
) AS
SELECT
  iif(track.name = 'autoviz data', NULL, slice.ts) AS ts,
  iif(track.name = 'autoviz data', NULL, slice.dur) AS dur,
  extract_arg(slice.arg_set_id, 'debug.run_id') AS run_id,
  extract_arg(slice.arg_set_id, 'debug.match_id') AS match_id,
  extract_arg(slice.arg_set_id, 'debug.level') AS level,
  extract_arg(slice.arg_set_id, 'debug.pattern') AS pattern,
  extract_arg(slice.arg_set_id, 'debug.partner') AS partner,
  extract_arg(slice.arg_set_id, 'debug.score') AS score,
  extract_arg(slice.arg_set_id, 'debug.partner_median') AS partner_median,
  extract_arg(slice.arg_set_id, 'debug.difference') AS difference,
  extract_arg(slice.arg_set_id, 'debug.ratio') AS ratio
FROM slice
JOIN track ON track.id = slice.track_id
WHERE
  slice.category = 'autoviz.run_match'
ORDER BY
  extract_arg(slice.arg_set_id, 'debug.run_id'), slice.id;
