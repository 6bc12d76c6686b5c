-- The phase of one iteration.
CREATE OR REPLACE PERFETTO TABLE _autoviz_src_phase(
  -- Start in ns; NULL if no device activity belongs to the row.
  ts LONG,
  -- Duration in ns; NULL if no device activity belongs to the row.
  dur LONG,
  -- The iteration.
  iteration_id LONG,
  -- prefill, decode, mixed, draft, verify, idle, dummy or unknown.
  phase STRING,
  -- Requests in the step.
  batch_size LONG,
  -- Requests that are prefilled in the step.
  context_requests LONG,
  -- Requests that decode in the step.
  generation_requests LONG,
  -- Tokens that are prefilled in the step.
  context_tokens LONG,
  -- Tokens that decode in the step.
  generation_tokens LONG,
  -- Batch size the replayed graph was captured for.
  graph_batch_size LONG,
  -- What the phase was derived from.
  evidence STRING,
  -- How sure that is, from 0 to 1.
  confidence DOUBLE
) AS
SELECT
  iif(track.name = 'autoviz data', NULL, slice.ts) AS ts,
  iif(track.name = 'autoviz data', NULL, slice.dur) AS dur,
  extract_arg(slice.arg_set_id, 'debug.iteration_id') AS iteration_id,
  extract_arg(slice.arg_set_id, 'debug.phase') AS phase,
  extract_arg(slice.arg_set_id, 'debug.batch_size') AS batch_size,
  extract_arg(slice.arg_set_id, 'debug.context_requests') AS context_requests,
  extract_arg(slice.arg_set_id, 'debug.generation_requests')
    AS generation_requests,
  extract_arg(slice.arg_set_id, 'debug.context_tokens') AS context_tokens,
  extract_arg(slice.arg_set_id, 'debug.generation_tokens') AS generation_tokens,
  extract_arg(slice.arg_set_id, 'debug.graph_batch_size') AS graph_batch_size,
  extract_arg(slice.arg_set_id, 'debug.evidence') AS evidence,
  extract_arg(slice.arg_set_id, 'debug.confidence') AS confidence
FROM slice
JOIN track ON track.id = slice.track_id
WHERE
  slice.category = 'autoviz.phase'
ORDER BY
  extract_arg(slice.arg_set_id, 'debug.iteration_id'), slice.id;
