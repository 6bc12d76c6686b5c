INCLUDE PERFETTO MODULE autoviz.activity;

INCLUDE PERFETTO MODULE autoviz.source.capture;

-- When each stream was done with what started before an activity. Kept apart,
-- as ordering a narrow table twice costs less than ordering the wide one.
CREATE OR REPLACE PERFETTO TABLE _autoviz_stream_end(
  -- Number of the activity.
  seq LONG,
  -- Latest end in ns of what started earlier on its stream.
  stream_end LONG
) AS
SELECT
  seq,
  max(ts + dur) OVER (
    PARTITION BY device, stream
    ORDER BY seq
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  ) AS stream_end
FROM _autoviz_device_slice
ORDER BY
  seq;

CREATE OR REPLACE PERFETTO INDEX _autoviz_stream_end_seq
ON _autoviz_stream_end(seq);

-- Everything about a device activity that is needed more than once.
CREATE OR REPLACE PERFETTO TABLE _autoviz_kernel(
  -- Number in the order of the durable key.
  seq LONG,
  -- Slice of the activity.
  id LONG,
  -- Start in ns.
  ts TIMESTAMP,
  -- Duration in ns.
  dur DURATION,
  -- Name as recorded.
  name STRING,
  -- kernel, memcpy or memset.
  kind STRING,
  -- Canonical operation.
  op STRING,
  -- Coarse class.
  family STRING,
  -- What it is for: compute, communication or copy.
  purpose STRING,
  -- Device number.
  device LONG,
  -- Stream number.
  stream LONG,
  -- Process number as recorded.
  pid LONG,
  -- Thread number as recorded.
  tid LONG,
  -- Number that the launch shares.
  correlation LONG,
  -- Slice of the launch.
  launch_id LONG,
  -- Start of the launch in ns.
  launch_ts TIMESTAMP,
  -- Duration of the launch in ns.
  launch_dur DURATION,
  -- Name of the launch.
  launch_name STRING,
  -- Thread of the launch.
  launch_utid LONG,
  -- Latest end in ns of what started earlier on the same stream.
  stream_end LONG,
  -- Arguments of the slice.
  arg_set_id ARGSETID
) AS
SELECT
  activity.seq,
  activity.id,
  activity.ts,
  activity.dur,
  activity.name,
  activity.kind,
  activity.op,
  activity.family,
  activity.purpose,
  activity.device,
  activity.stream,
  activity.pid,
  activity.tid,
  activity.correlation,
  activity.launch_id,
  activity.launch_ts,
  activity.launch_dur,
  activity.launch_name,
  activity.launch_utid,
  stream_end.stream_end,
  activity.arg_set_id
-- CROSS JOIN keeps the activities outermost, and so in their order.
FROM _autoviz_activity AS activity
CROSS JOIN _autoviz_stream_end AS stream_end
WHERE
  stream_end.seq = activity.seq;

CREATE OR REPLACE PERFETTO INDEX _autoviz_kernel_seq ON _autoviz_kernel(seq);

-- Device activities: kernels, copies and fills of a JSON capture or a native
-- trace with GPU render stages, in the order in which they started.
CREATE OR REPLACE PERFETTO VIEW autoviz_kernel(
  -- Slice of the activity; differs from file to file.
  id LONG,
  -- Number in the order of (ts, dur, pid, tid, correlation, name), from 0; the
  -- same in every file and on every engine that holds all activities.
  seq LONG,
  -- Start in ns.
  ts TIMESTAMP,
  -- Duration in ns.
  dur DURATION,
  -- Name as recorded.
  name STRING,
  -- kernel, memcpy or memset.
  kind STRING,
  -- Canonical operation: the name without its tuning. NULL in a capture that
  -- has not been annotated.
  op STRING,
  -- Coarse class of the operation: gemm, attention, moe, norm, rope,
  -- activation, quantize, communication, memory, sampling, elementwise or
  -- other. NULL in a capture that has not been annotated.
  family STRING,
  -- Rank of the recorded process. NULL if unknown.
  rank LONG,
  -- Device number.
  device LONG,
  -- Stream number, also where a repair moved the slice to another thread.
  stream LONG,
  -- Process number as recorded.
  pid LONG,
  -- Thread number as recorded.
  tid LONG,
  -- Number shared with the launch. One graph launch shares it with hundreds.
  correlation LONG,
  -- Slice of the call that launched the activity.
  launch_id LONG,
  -- Start of that call in ns.
  launch_ts TIMESTAMP,
  -- Duration of that call in ns.
  launch_dur DURATION,
  -- Name of that call.
  launch_name STRING,
  -- Time in ns from the start of the launch to the start on the device.
  launch_delay LONG,
  -- Time in ns in which the stream was idle before the activity; 0 if it
  -- starts before its predecessors end. NULL for the first on its stream.
  idle_before LONG,
  -- Time in ns for which earlier activities of the stream still ran after the
  -- start, no longer than the activity itself.
  overlap_before LONG,
  -- Blocks of the grid in x.
  grid_x LONG,
  -- Blocks of the grid in y.
  grid_y LONG,
  -- Blocks of the grid in z.
  grid_z LONG,
  -- Threads of a block in x.
  block_x LONG,
  -- Threads of a block in y.
  block_y LONG,
  -- Threads of a block in z.
  block_z LONG,
  -- Registers of a thread.
  registers LONG,
  -- Shared memory (LDS) of a block in bytes.
  shared_memory LONG,
  -- Bytes moved by a copy or a fill.
  bytes LONG,
  -- Duration in ns that the profiler wrote, where it reached implausibly far
  -- into the next kernel and was cut there.
  unclipped_dur LONG
) AS
SELECT
  id,
  seq,
  ts,
  dur,
  name,
  kind,
  op,
  family,
  (SELECT rank FROM _autoviz_src_capture) AS rank,
  device,
  stream,
  pid,
  tid,
  correlation,
  launch_id,
  launch_ts,
  launch_dur,
  launch_name,
  ts - launch_ts AS launch_delay,
  max(ts - stream_end, 0) AS idle_before,
  min(max(stream_end - ts, 0), dur) AS overlap_before,
  extract_arg(arg_set_id, 'args.grid[0]') AS grid_x,
  extract_arg(arg_set_id, 'args.grid[1]') AS grid_y,
  extract_arg(arg_set_id, 'args.grid[2]') AS grid_z,
  extract_arg(arg_set_id, 'args.block[0]') AS block_x,
  extract_arg(arg_set_id, 'args.block[1]') AS block_y,
  extract_arg(arg_set_id, 'args.block[2]') AS block_z,
  extract_arg(arg_set_id, 'args.registers per thread') AS registers,
  extract_arg(arg_set_id, 'args.shared memory') AS shared_memory,
  extract_arg(arg_set_id, 'args.bytes') AS bytes,
  CAST(
    round(
      1000 * extract_arg(arg_set_id, 'args.autoviz_unclipped_dur_us')
    ) AS INTEGER
  ) AS unclipped_dur
FROM _autoviz_kernel;
