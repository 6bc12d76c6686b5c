INCLUDE PERFETTO MODULE autoviz.device_slice;

INCLUDE PERFETTO MODULE autoviz.launch;

INCLUDE PERFETTO MODULE autoviz.source.kernel_name;

-- Device activities with what they do and what launched them, in the order of
-- their numbers. A view: what reads it once need not store it.
CREATE OR REPLACE PERFETTO VIEW _autoviz_activity(
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
  -- Arguments of the slice.
  arg_set_id ARGSETID
) AS
SELECT
  device.seq AS seq,
  device.id AS id,
  device.ts AS ts,
  device.dur AS dur,
  device.name AS name,
  device.kind AS kind,
  kernel_name.op AS op,
  kernel_name.family AS family,
  CASE
    WHEN device.kind != 'kernel' THEN 'copy'
    -- ROCm records its copies and fills as kernels.
    WHEN device.name GLOB '__amd_rocclr_*' THEN 'copy'
    WHEN kernel_name.family = 'communication' THEN 'communication'
    ELSE 'compute'
  END AS purpose,
  device.device AS device,
  device.stream AS stream,
  device.pid AS pid,
  device.tid AS tid,
  device.correlation AS correlation,
  coalesce(launch.id, flow.id) AS launch_id,
  coalesce(launch.ts, flow.ts) AS launch_ts,
  coalesce(launch.dur, flow.dur) AS launch_dur,
  coalesce(launch.name, flow.name) AS launch_name,
  coalesce(launch.utid, flow.utid) AS launch_utid,
  device.arg_set_id AS arg_set_id
FROM _autoviz_device_slice AS device
LEFT JOIN _autoviz_src_kernel_name AS kernel_name
  ON kernel_name.name = device.name
LEFT JOIN _autoviz_launch AS launch
  ON launch.correlation = device.correlation
LEFT JOIN _autoviz_flow_launch AS flow
  ON flow.device_slice_id = device.id;
