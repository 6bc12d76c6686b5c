INCLUDE PERFETTO MODULE autoviz.device_slice;

-- Operators whose input shapes were recorded: the sizes of the first two
-- inputs, as far as three dimensions. Read only where annotations tell nothing.
CREATE OR REPLACE PERFETTO VIEW _autoviz_operator_shape(
  -- Start in ns.
  ts TIMESTAMP,
  -- Duration in ns.
  dur DURATION,
  -- Thread.
  utid LONG,
  -- First dimension of the first input. NULL for a scalar.
  first_0 LONG,
  -- Second dimension of the first input. NULL if it has one at most.
  first_1 LONG,
  -- Third dimension of the first input. NULL if it has two at most.
  first_2 LONG,
  -- Fourth dimension of the first input. NULL if it has three at most.
  first_3 LONG,
  -- First dimension of the second input.
  second_0 LONG,
  -- Second dimension of the second input.
  second_1 LONG,
  -- Third dimension of the second input.
  second_2 LONG,
  -- Fourth dimension of the second input.
  second_3 LONG
) AS
WITH
  shaped AS (
    SELECT
      slice.ts AS ts,
      slice.dur AS dur,
      track.utid AS utid,
      extract_arg(slice.arg_set_id, 'args.Input Dims[0][0]') AS first_0,
      extract_arg(slice.arg_set_id, 'args.Input Dims[0][1]') AS first_1,
      extract_arg(slice.arg_set_id, 'args.Input Dims[0][2]') AS first_2,
      extract_arg(slice.arg_set_id, 'args.Input Dims[0][3]') AS first_3,
      extract_arg(slice.arg_set_id, 'args.Input Dims[1][0]') AS second_0,
      extract_arg(slice.arg_set_id, 'args.Input Dims[1][1]') AS second_1,
      extract_arg(slice.arg_set_id, 'args.Input Dims[1][2]') AS second_2,
      extract_arg(slice.arg_set_id, 'args.Input Dims[1][3]') AS second_3
    FROM slice
    JOIN _autoviz_track AS track
      USING (track_id)
    WHERE
      slice.category IN ('cpu_op', 'Operator') AND slice.dur >= 0
  )
SELECT
  *
FROM shaped
WHERE
  first_0 IS NOT NULL OR second_0 IS NOT NULL;

-- Grids of kernels, as far as they were recorded.
CREATE OR REPLACE PERFETTO VIEW _autoviz_grid(
  -- Number of the activity.
  seq LONG,
  -- Blocks in x.
  x LONG,
  -- Blocks in y times blocks in z.
  yz LONG
) AS
WITH
  recorded AS (
    SELECT
      seq,
      extract_arg(arg_set_id, 'args.grid[0]') AS x,
      extract_arg(arg_set_id, 'args.grid[1]')
        * extract_arg(arg_set_id, 'args.grid[2]') AS yz
    FROM _autoviz_device_slice
    WHERE
      kind = 'kernel'
  )
SELECT
  *
FROM recorded
WHERE
  x IS NOT NULL;
