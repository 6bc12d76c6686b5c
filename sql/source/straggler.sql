-- A run in which one rank was late, by the work that it does itself:
-- collectives, in which ranks wait for one another, are left out. Clocks are
-- not compared.
CREATE OR REPLACE PERFETTO TABLE _autoviz_src_straggler(
  -- The pattern.
  pattern_id LONG,
  -- Number of the run on every rank.
  number LONG,
  -- The rank that was late.
  late_rank LONG,
  -- Time in ns that it needs more than the median of all ranks.
  late LONG,
  -- What it usually needs more, in ns.
  usual LONG,
  -- Time in ns that it worked.
  work LONG,
  -- Time in ns that other ranks were longer in collectives.
  wait LONG
) AS
SELECT
  extract_arg(slice.arg_set_id, 'debug.pattern_id') AS pattern_id,
  extract_arg(slice.arg_set_id, 'debug.number') AS number,
  extract_arg(slice.arg_set_id, 'debug.late_rank') AS late_rank,
  extract_arg(slice.arg_set_id, 'debug.late') AS late,
  extract_arg(slice.arg_set_id, 'debug.usual') AS usual,
  extract_arg(slice.arg_set_id, 'debug.work') AS work,
  extract_arg(slice.arg_set_id, 'debug.wait') AS wait
FROM slice
WHERE
  slice.category = 'autoviz.straggler'
ORDER BY
  slice.id;
