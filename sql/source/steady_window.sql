-- A window of consecutive iterations in steady state.
CREATE OR REPLACE PERFETTO TABLE _autoviz_src_steady_window(
  -- Start in ns; NULL if no device activity belongs to the row.
  ts LONG,
  -- Duration in ns; NULL if no device activity belongs to the row.
  dur LONG,
  -- Number of the window in the capture, from 0.
  id LONG,
  -- mixed, decode or prefill: what its iterations do; any where phases are
  -- unknown.
  mode STRING,
  -- What steadiness was judged by: requests, batch sizes, …
  tier STRING,
  -- Level of its iterations.
  level LONG,
  -- First iteration.
  first_id LONG,
  -- Last iteration; it belongs to the window.
  last_id LONG,
  -- Number of the first iteration among the real ones.
  first_number LONG,
  -- Number of the last iteration among the real ones.
  last_number LONG,
  -- Iterations in the window.
  iteration_count LONG,
  -- First iteration of the steady region around it.
  region_first_number LONG,
  -- Last iteration of the steady region around it.
  region_last_number LONG,
  -- Median number of requests, of iterations that state one.
  batch_size DOUBLE,
  -- Tokens that are prefilled in the window, where known.
  context_tokens LONG,
  -- Tokens that decode in the window, where known.
  generation_tokens LONG,
  -- Part of its iterations that prefill, from 0 to 1.
  prefill_share DOUBLE,
  -- Mean duration of its iterations on the device in ns.
  mean_dur DOUBLE,
  -- Standard deviation of that, divided by the mean.
  variation DOUBLE,
  -- Why this window was chosen.
  why STRING,
  -- How sure it is that the window is steady, from 0 to 1.
  confidence DOUBLE
) AS
SELECT
  iif(track.name = 'autoviz data', NULL, slice.ts) AS ts,
  iif(track.name = 'autoviz data', NULL, slice.dur) AS dur,
  extract_arg(slice.arg_set_id, 'debug.id') AS id,
  extract_arg(slice.arg_set_id, 'debug.mode') AS mode,
  extract_arg(slice.arg_set_id, 'debug.tier') AS tier,
  extract_arg(slice.arg_set_id, 'debug.level') AS level,
  extract_arg(slice.arg_set_id, 'debug.first_id') AS first_id,
  extract_arg(slice.arg_set_id, 'debug.last_id') AS last_id,
  extract_arg(slice.arg_set_id, 'debug.first_number') AS first_number,
  extract_arg(slice.arg_set_id, 'debug.last_number') AS last_number,
  extract_arg(slice.arg_set_id, 'debug.iteration_count') AS iteration_count,
  extract_arg(slice.arg_set_id, 'debug.region_first_number')
    AS region_first_number,
  extract_arg(slice.arg_set_id, 'debug.region_last_number')
    AS region_last_number,
  extract_arg(slice.arg_set_id, 'debug.batch_size') AS batch_size,
  extract_arg(slice.arg_set_id, 'debug.context_tokens') AS context_tokens,
  extract_arg(slice.arg_set_id, 'debug.generation_tokens') AS generation_tokens,
  extract_arg(slice.arg_set_id, 'debug.prefill_share') AS prefill_share,
  extract_arg(slice.arg_set_id, 'debug.mean_dur') AS mean_dur,
  extract_arg(slice.arg_set_id, 'debug.variation') AS variation,
  extract_arg(slice.arg_set_id, 'debug.why') AS why,
  extract_arg(slice.arg_set_id, 'debug.confidence') AS confidence
FROM slice
JOIN track ON track.id = slice.track_id
WHERE
  slice.category = 'autoviz.steady_window'
ORDER BY
  extract_arg(slice.arg_set_id, 'debug.id'), slice.id;
