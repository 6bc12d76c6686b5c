INCLUDE PERFETTO MODULE autoviz.iterations;

INCLUDE PERFETTO MODULE autoviz.kernels;

INCLUDE PERFETTO MODULE autoviz.phases;

INCLUDE PERFETTO MODULE autoviz.source.layer;

-- Executions of model layers.
CREATE OR REPLACE PERFETTO VIEW autoviz_layer(
  -- Number of the layer execution in the capture, from 0.
  id LONG,
  -- Rank of the recorded process. NULL if unknown.
  rank LONG,
  -- Start in ns of its first activity.
  ts TIMESTAMP,
  -- Time in ns from there to the end of its last activity.
  dur DURATION,
  -- The iteration it belongs to.
  iteration_id LONG,
  -- Device it ran on.
  device LONG,
  -- Index of the layer in its iteration, from 0.
  layer LONG,
  -- What it consists of, e.g. attention+moe. Variants, which run other ops in
  -- the same kind of step, are numbered from 2.
  kind STRING,
  -- The op that occurs once per layer and located it.
  anchor STRING,
  -- Name of the nn.Module. NULL where no stacks were recorded.
  module STRING,
  -- What the layer was derived from.
  evidence STRING,
  -- Position in its iteration of its first activity.
  first_position LONG,
  -- Position in its iteration of its last activity.
  last_position LONG,
  -- Kernels, copies and fills of the layer.
  activity_count LONG,
  -- Kernels of the layer.
  kernel_count LONG,
  -- Time in ns in which at least one of them ran.
  busy_dur LONG
) AS
SELECT
  id,
  (SELECT rank FROM _autoviz_src_capture) AS rank,
  ts,
  dur,
  iteration_id,
  device,
  layer,
  kind,
  anchor,
  module,
  evidence,
  first_position,
  last_position,
  activity_count,
  kernel_count,
  busy_dur
FROM _autoviz_src_layer;

-- Which device activities belong to which layer, and where in it they are.
CREATE OR REPLACE PERFETTO TABLE autoviz_layer_kernel(
  -- The layer execution.
  layer_id LONG,
  -- Position in the layer, from 0.
  position LONG,
  -- Number of the activity; joins autoviz_kernel.seq.
  seq LONG
) AS
SELECT
  layer.id AS layer_id,
  row_number() OVER (PARTITION BY layer.id ORDER BY member.position) - 1
    AS position,
  member.seq AS seq
FROM _autoviz_src_layer AS layer
JOIN autoviz_iteration_kernel AS member
  ON member.iteration_id = layer.iteration_id
  AND member.device = layer.device
  AND member.position BETWEEN layer.first_position AND layer.last_position
WHERE
  -- Work of a stream that takes no part in the layers may run between them.
  layer.skipped IS NULL
  OR NOT instr(layer.skipped, ',' || member.position || ',')
ORDER BY
  layer_id,
  position;

-- One row per kernel of a layer with the group that it is compared within.
CREATE OR REPLACE PERFETTO TABLE _autoviz_layer_member(
  -- Phase of the iteration. NULL if unknown.
  phase STRING,
  -- Requests in the step. NULL if unknown.
  batch_size LONG,
  -- Kind of the layer.
  kind STRING,
  -- Position in the layer, from 0.
  position LONG,
  -- The layer execution.
  layer_id LONG,
  -- Canonical operation.
  op STRING,
  -- Coarse class.
  family STRING,
  -- Duration in ns.
  dur LONG
) AS
SELECT
  phase.phase AS phase,
  phase.batch_size AS batch_size,
  layer.kind AS kind,
  member.position AS position,
  layer.id AS layer_id,
  kernel.op AS op,
  kernel.family AS family,
  kernel.dur AS dur
FROM autoviz_layer_kernel AS member
JOIN _autoviz_src_layer AS layer
  ON layer.id = member.layer_id
JOIN _autoviz_kernel AS kernel
  ON kernel.seq = member.seq
LEFT JOIN _autoviz_src_phase AS phase
  ON phase.iteration_id = layer.iteration_id;

-- How long the kernels at each position of a kind of layer take, over all
-- executions in steps of one phase and batch size.
CREATE OR REPLACE PERFETTO TABLE autoviz_layer_position(
  -- Phase of the steps. NULL if unknown.
  phase STRING,
  -- Requests in the steps. NULL if unknown.
  batch_size LONG,
  -- Kind of the layer.
  kind STRING,
  -- Position in the layer, from 0.
  position LONG,
  -- Canonical operation; where it differs between executions, the most
  -- frequent one.
  op STRING,
  -- Coarse class of that operation.
  family STRING,
  -- Different operations at the position; more than 1 says that executions
  -- of this kind are not alike there.
  op_count LONG,
  -- Kernels at the position.
  kernel_count LONG,
  -- Mean duration in ns.
  mean_dur DOUBLE,
  -- Standard deviation of the duration in ns, over all of the kernels.
  std_dur DOUBLE,
  -- Shortest duration in ns.
  min_dur LONG,
  -- Longest duration in ns.
  max_dur LONG,
  -- Sum of the durations in ns.
  total_dur LONG,
  -- Share of the sum over all positions of the group, from 0 to 1.
  share DOUBLE
) AS
WITH
  centred AS (
    SELECT
      *,
      avg(dur) OVER (PARTITION BY phase, batch_size, kind, position) AS mean
    FROM _autoviz_layer_member
  ),
  grouped AS (
    SELECT
      phase,
      batch_size,
      kind,
      position,
      count(DISTINCT op) AS op_count,
      count() AS kernel_count,
      avg(dur) AS mean_dur,
      sqrt(avg((dur - mean) * (dur - mean))) AS std_dur,
      min(dur) AS min_dur,
      max(dur) AS max_dur,
      sum(dur) AS total_dur
    FROM centred
    GROUP BY
      phase,
      batch_size,
      kind,
      position
  ),
  named AS (
    SELECT
      phase,
      batch_size,
      kind,
      position,
      op,
      family,
      row_number() OVER (
        PARTITION BY phase, batch_size, kind, position
        ORDER BY count() DESC, op
      ) AS preference
    FROM _autoviz_layer_member
    GROUP BY
      phase,
      batch_size,
      kind,
      position,
      op,
      family
  )
SELECT
  grouped.phase,
  grouped.batch_size,
  grouped.kind,
  grouped.position,
  named.op,
  named.family,
  grouped.op_count,
  grouped.kernel_count,
  grouped.mean_dur,
  grouped.std_dur,
  grouped.min_dur,
  grouped.max_dur,
  grouped.total_dur,
  1.0 * grouped.total_dur / nullif(
    sum(grouped.total_dur) OVER (
      PARTITION BY grouped.phase, grouped.batch_size, grouped.kind
    ),
    0
  ) AS share
FROM grouped
JOIN named
  ON named.phase IS grouped.phase
  AND named.batch_size IS grouped.batch_size
  AND named.kind = grouped.kind
  AND named.position = grouped.position
  AND named.preference = 1
ORDER BY
  grouped.phase,
  grouped.batch_size,
  grouped.kind,
  grouped.position;
