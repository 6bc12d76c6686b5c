-- One step from the sequence of A's pattern to that of its partner in B.
CREATE OR REPLACE PERFETTO TABLE _autoviz_src_edit(
  -- The match.
  match_id LONG,
  -- Number in the order of B's sequence, from 0.
  number LONG,
  -- same, renamed, split, fused, added, removed or moved.
  kind STRING,
  -- A's operations, joined by ' + '; NULL if added.
  ops_a STRING,
  -- B's operations, joined by ' + '; NULL if removed.
  ops_b STRING,
  -- Their positions in A's pattern, comma-separated.
  positions_a STRING,
  -- Their positions in B's pattern, comma-separated.
  positions_b STRING,
  -- Kernel time in ns that a run spends more in B.
  effect DOUBLE,
  -- How sure the step is, from 0 to 1.
  certainty DOUBLE
) AS
SELECT
  extract_arg(slice.arg_set_id, 'debug.match_id') AS match_id,
  extract_arg(slice.arg_set_id, 'debug.number') AS number,
  extract_arg(slice.arg_set_id, 'debug.kind') AS kind,
  extract_arg(slice.arg_set_id, 'debug.ops_a') AS ops_a,
  extract_arg(slice.arg_set_id, 'debug.ops_b') AS ops_b,
  extract_arg(slice.arg_set_id, 'debug.positions_a') AS positions_a,
  extract_arg(slice.arg_set_id, 'debug.positions_b') AS positions_b,
  extract_arg(slice.arg_set_id, 'debug.effect') AS effect,
  extract_arg(slice.arg_set_id, 'debug.certainty') AS certainty
FROM slice
WHERE
  slice.category = 'autoviz.edit'
ORDER BY
  slice.id;
