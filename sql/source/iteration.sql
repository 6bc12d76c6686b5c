-- One engine step, or one step inside another at a higher level.
CREATE OR REPLACE PERFETTO TABLE _autoviz_src_iteration(
  -- Start in ns; NULL if no device activity belongs to the row.
  ts LONG,
  -- Duration in ns; NULL if no device activity belongs to the row.
  dur LONG,
  -- Number of the iteration in the capture, from 0.
  id LONG,
  -- 0 for an outermost iteration, 1 for one inside it, …
  level LONG,
  -- The iteration this one lies in.
  parent_id LONG,
  -- Number among the real iterations of its level, from 0.
  number LONG,
  -- step, generation, dummy, capture, warm-up or wrap-up; only the first two
  -- are real.
  kind STRING,
  -- Text of the annotation, or name of the call, it is from.
  name STRING,
  -- Whose annotation it is, e.g. vllm, sglang.
  dialect STRING,
  -- What the iteration and its kernels were derived from.
  evidence STRING,
  -- How sure that is, from 0 to 1.
  confidence DOUBLE,
  -- Start of the host span in ns.
  host_ts LONG,
  -- Duration of the host span in ns.
  host_dur LONG,
  -- Kernels, copies and fills that belong to it.
  activity_count LONG,
  -- Kernels that belong to it.
  kernel_count LONG,
  -- Time in ns in which at least one of them ran.
  busy_dur LONG,
  -- What starting to record has changed in it, if anything.
  distorted STRING
) AS
SELECT
  iif(track.name = 'autoviz data', NULL, slice.ts) AS ts,
  iif(track.name = 'autoviz data', NULL, slice.dur) AS dur,
  extract_arg(slice.arg_set_id, 'debug.id') AS id,
  extract_arg(slice.arg_set_id, 'debug.level') AS level,
  extract_arg(slice.arg_set_id, 'debug.parent_id') AS parent_id,
  extract_arg(slice.arg_set_id, 'debug.number') AS number,
  extract_arg(slice.arg_set_id, 'debug.kind') AS kind,
  extract_arg(slice.arg_set_id, 'debug.name') AS name,
  extract_arg(slice.arg_set_id, 'debug.dialect') AS dialect,
  extract_arg(slice.arg_set_id, 'debug.evidence') AS evidence,
  extract_arg(slice.arg_set_id, 'debug.confidence') AS confidence,
  extract_arg(slice.arg_set_id, 'debug.host_ts') AS host_ts,
  extract_arg(slice.arg_set_id, 'debug.host_dur') AS host_dur,
  extract_arg(slice.arg_set_id, 'debug.activity_count') AS activity_count,
  extract_arg(slice.arg_set_id, 'debug.kernel_count') AS kernel_count,
  extract_arg(slice.arg_set_id, 'debug.busy_dur') AS busy_dur,
  extract_arg(slice.arg_set_id, 'debug.distorted') AS distorted
FROM slice
JOIN track ON track.id = slice.track_id
WHERE
  slice.category = 'autoviz.iteration'
ORDER BY
  extract_arg(slice.arg_set_id, 'debug.id'), slice.id;
