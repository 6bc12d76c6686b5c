INCLUDE PERFETTO MODULE autoviz.device_slice;

INCLUDE PERFETTO MODULE autoviz.launch;

INCLUDE PERFETTO MODULE autoviz.source.kernel_name;

-- Device activities with what launched them, in the order of their numbers. A
-- view, as those below: what reads it once need not store it.
CREATE OR REPLACE PERFETTO VIEW _autoviz_launched_activity(
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
LEFT JOIN _autoviz_launch AS launch
  ON launch.correlation = device.correlation
LEFT JOIN _autoviz_flow_launch AS flow
  -- The first condition saves the look-up for nearly all.
  ON launch.id IS NULL AND flow.device_slice_id = device.id;

-- The same with what the activities do.
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
  activity.seq AS seq,
  activity.id AS id,
  activity.ts AS ts,
  activity.dur AS dur,
  activity.name AS name,
  activity.kind AS kind,
  kernel_name.op AS op,
  kernel_name.family AS family,
  CASE
    WHEN activity.kind != 'kernel' THEN 'copy'
    -- ROCm records its copies and fills as kernels.
    WHEN activity.name GLOB '__amd_rocclr_*' THEN 'copy'
    WHEN kernel_name.family = 'communication' THEN 'communication'
    ELSE 'compute'
  END AS purpose,
  activity.device AS device,
  activity.stream AS stream,
  activity.pid AS pid,
  activity.tid AS tid,
  activity.correlation AS correlation,
  activity.launch_id AS launch_id,
  activity.launch_ts AS launch_ts,
  activity.launch_dur AS launch_dur,
  activity.launch_name AS launch_name,
  activity.launch_utid AS launch_utid,
  activity.arg_set_id AS arg_set_id
FROM _autoviz_launched_activity AS activity
LEFT JOIN _autoviz_src_kernel_name AS kernel_name
  ON kernel_name.name = activity.name;

-- The numbers of each activity. Steps read these, and put the texts in
-- themselves: handing a text over for each activity takes longer than the rest.
CREATE OR REPLACE PERFETTO VIEW _autoviz_activity_number(
  -- Start in ns.
  ts TIMESTAMP,
  -- Duration in ns.
  dur DURATION,
  -- 0 for a kernel, 1 for a copy, 2 for a fill.
  kind_number LONG,
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
  -- Start of the launch in ns.
  launch_ts TIMESTAMP,
  -- Thread of the launch.
  launch_utid LONG
) AS
SELECT
  ts,
  dur,
  CASE kind WHEN 'kernel' THEN 0 WHEN 'memcpy' THEN 1 ELSE 2 END
    AS kind_number,
  device,
  stream,
  pid,
  tid,
  correlation,
  launch_ts,
  launch_utid
FROM _autoviz_launched_activity;

-- The name of each activity that has one, name by name: comparing all
-- activities with one name at once is faster than the opposite.
CREATE OR REPLACE PERFETTO VIEW _autoviz_activity_name(
  -- Number of the activity.
  seq LONG,
  -- Number of the name in the order of _autoviz_src_kernel_name.
  name_number LONG
) AS
SELECT
  device.seq AS seq,
  kernel_name._auto_id AS name_number
FROM _autoviz_src_kernel_name AS kernel_name
CROSS JOIN _autoviz_device_slice AS device
WHERE
  device.name = kernel_name.name;
