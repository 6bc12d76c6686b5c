-- One execution of a model layer in one iteration on one device.
CREATE OR REPLACE PERFETTO TABLE _autoviz_src_layer(
  -- Start in ns; NULL if no device activity belongs to the row.
  ts LONG,
  -- Duration in ns; NULL if no device activity belongs to the row.
  dur LONG,
  -- Number of the layer execution in the capture, from 0.
  id LONG,
  -- The iteration it belongs to.
  iteration_id LONG,
  -- Device it ran on.
  device LONG,
  -- Index of the layer in its iteration, from 0.
  layer LONG,
  -- What it consists of, e.g. attention+moe; variants are numbered.
  kind STRING,
  -- The op that occurs once per layer and located it.
  anchor STRING,
  -- Name of the nn.Module, where stacks were recorded.
  module STRING,
  -- What the layer was derived from.
  evidence STRING,
  -- Position in its iteration of its first activity.
  first_position LONG,
  -- Position in its iteration of its last activity.
  last_position LONG,
  -- Positions between the two that other work holds, each after a comma, with
  -- one more at the end.
  skipped STRING,
  -- Kernels, copies and fills of the layer.
  activity_count LONG,
  -- Kernels of the layer.
  kernel_count LONG,
  -- Time in ns in which at least one of them ran.
  busy_dur LONG
) AS
SELECT
  iif(track.name = 'autoviz data', NULL, slice.ts) AS ts,
  iif(track.name = 'autoviz data', NULL, slice.dur) AS dur,
  extract_arg(slice.arg_set_id, 'debug.id') AS id,
  extract_arg(slice.arg_set_id, 'debug.iteration_id') AS iteration_id,
  extract_arg(slice.arg_set_id, 'debug.device') AS device,
  extract_arg(slice.arg_set_id, 'debug.layer') AS layer,
  extract_arg(slice.arg_set_id, 'debug.kind') AS kind,
  extract_arg(slice.arg_set_id, 'debug.anchor') AS anchor,
  extract_arg(slice.arg_set_id, 'debug.module') AS module,
  extract_arg(slice.arg_set_id, 'debug.evidence') AS evidence,
  extract_arg(slice.arg_set_id, 'debug.first_position') AS first_position,
  extract_arg(slice.arg_set_id, 'debug.last_position') AS last_position,
  extract_arg(slice.arg_set_id, 'debug.skipped') AS skipped,
  extract_arg(slice.arg_set_id, 'debug.activity_count') AS activity_count,
  extract_arg(slice.arg_set_id, 'debug.kernel_count') AS kernel_count,
  extract_arg(slice.arg_set_id, 'debug.busy_dur') AS busy_dur
FROM slice
JOIN track ON track.id = slice.track_id
WHERE
  slice.category = 'autoviz.layer'
ORDER BY
  extract_arg(slice.arg_set_id, 'debug.id'), slice.id;
