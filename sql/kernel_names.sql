INCLUDE PERFETTO MODULE autoviz.device_slice;

-- Distinct names of device activities, from which the operations are derived.
CREATE OR REPLACE PERFETTO VIEW _autoviz_distinct_kernel_name(
  -- Name as recorded.
  name STRING
) AS
SELECT DISTINCT
  name
FROM _autoviz_device_slice
ORDER BY
  name;
