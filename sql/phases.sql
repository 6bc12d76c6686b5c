INCLUDE PERFETTO MODULE autoviz.iterations;

INCLUDE PERFETTO MODULE autoviz.source.phase;

-- The phase of each iteration for which there is evidence of one.
CREATE OR REPLACE PERFETTO VIEW autoviz_phase(
  -- The iteration.
  iteration_id LONG,
  -- Rank of the recorded process. NULL if unknown.
  rank LONG,
  -- Start in ns of the iteration's first device activity. NULL if it has none.
  ts TIMESTAMP,
  -- Time in ns from there to the end of its last device activity.
  dur DURATION,
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
  -- Batch size that the replayed graph was captured for.
  graph_batch_size LONG,
  -- What the phase was derived from.
  evidence STRING,
  -- How sure that is, from 0 to 1.
  confidence DOUBLE
) AS
SELECT
  iteration_id,
  (SELECT rank FROM _autoviz_src_capture) AS rank,
  ts,
  dur,
  phase,
  batch_size,
  context_requests,
  generation_requests,
  context_tokens,
  generation_tokens,
  graph_batch_size,
  evidence,
  confidence
FROM _autoviz_src_phase;
