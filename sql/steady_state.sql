INCLUDE PERFETTO MODULE autoviz.source.capture;

INCLUDE PERFETTO MODULE autoviz.source.steady_window;

-- Windows of consecutive iterations in steady state, at most one of a mode.
CREATE OR REPLACE PERFETTO VIEW autoviz_steady_window(
  -- Number of the window in the capture, from 0.
  id LONG,
  -- Rank of the recorded process. NULL if unknown.
  rank LONG,
  -- Start in ns of its first device activity. NULL if it has none.
  ts TIMESTAMP,
  -- Time in ns from there to the end of its last device activity.
  dur DURATION,
  -- mixed, decode or prefill: what its iterations do. any where phases are
  -- unknown.
  mode STRING,
  -- What steadiness was judged by: annotated requests, decode batch sizes or
  -- durations.
  tier STRING,
  -- Level of its iterations.
  level LONG,
  -- First iteration.
  first_id LONG,
  -- Last iteration. It belongs to the window.
  last_id LONG,
  -- Number of the first iteration among the real ones of its level.
  first_number LONG,
  -- Number of the last iteration among the real ones of its level.
  last_number LONG,
  -- Iterations in the window.
  iteration_count LONG,
  -- Number of the first iteration of the steady region around it.
  region_first_number LONG,
  -- Number of the last iteration of the steady region around it.
  region_last_number LONG,
  -- Median number of requests in flight, of the iterations that tell it.
  batch_size DOUBLE,
  -- Tokens that are prefilled in the window. NULL if no iteration tells it.
  context_tokens LONG,
  -- Tokens that decode in the window. NULL if no iteration tells it.
  generation_tokens LONG,
  -- Part of its iterations that prefill, from 0 to 1. NULL for the mode any.
  prefill_share DOUBLE,
  -- Mean duration in ns of its iterations on the device.
  mean_dur DOUBLE,
  -- Standard deviation of that duration, divided by the mean.
  variation DOUBLE,
  -- Why this window was chosen.
  why STRING,
  -- How sure it is that the window is steady, from 0 to 1.
  confidence DOUBLE
) AS
SELECT
  id,
  (SELECT rank FROM _autoviz_src_capture) AS rank,
  ts,
  dur,
  mode,
  tier,
  level,
  first_id,
  last_id,
  first_number,
  last_number,
  iteration_count,
  region_first_number,
  region_last_number,
  batch_size,
  context_tokens,
  generation_tokens,
  prefill_share,
  mean_dur,
  variation,
  why,
  confidence
FROM _autoviz_src_steady_window;
