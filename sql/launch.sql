INCLUDE PERFETTO MODULE autoviz.device_slice;

-- Calls of the runtime or the driver that hand work to the device, one per
-- correlation: where a runtime call contains a driver call, the outer one.
CREATE OR REPLACE PERFETTO TABLE _autoviz_launch(
  -- Number that the device activities share.
  correlation LONG,
  -- Slice of the call.
  id LONG,
  -- Start in ns.
  ts TIMESTAMP,
  -- Duration in ns.
  dur DURATION,
  -- Name of the call.
  name STRING,
  -- Thread of the call.
  utid LONG
) AS
SELECT
  correlation,
  id,
  min(ts) AS ts,
  dur,
  name,
  utid
FROM (
  SELECT
    CAST(extract_arg(slice.arg_set_id, 'args.correlation') AS INTEGER)
      AS correlation,
    slice.id AS id,
    slice.ts AS ts,
    slice.dur AS dur,
    slice.name AS name,
    track.utid AS utid
  FROM slice
  JOIN _autoviz_track AS track
    USING (track_id)
  WHERE
    slice.category IN (
      'cuda_runtime', 'cuda_driver', 'hip_runtime', 'hip_driver', 'Runtime')
)
WHERE
  correlation IS NOT NULL
GROUP BY
  correlation
ORDER BY
  correlation;

-- Launches of activities that end a flow: those that carry no correlation, and
-- native ones, whose number no call repeats.
CREATE OR REPLACE PERFETTO TABLE _autoviz_flow_launch(
  -- Slice of the device activity.
  device_slice_id LONG,
  -- Slice of the call.
  id LONG,
  -- Start in ns.
  ts TIMESTAMP,
  -- Duration in ns.
  dur DURATION,
  -- Name of the call.
  name STRING,
  -- Thread of the call.
  utid LONG
) AS
SELECT
  device.id AS device_slice_id,
  slice.id AS id,
  min(slice.ts) AS ts,
  slice.dur AS dur,
  slice.name AS name,
  track.utid AS utid
FROM _autoviz_device_slice AS device
JOIN flow
  ON flow.slice_in = device.id
JOIN slice
  ON slice.id = flow.slice_out
JOIN _autoviz_track AS track
  ON track.track_id = slice.track_id
WHERE
  device.correlation IS NULL OR device.id IN (SELECT id FROM gpu_slice)
GROUP BY
  device.id
ORDER BY
  device.id;
