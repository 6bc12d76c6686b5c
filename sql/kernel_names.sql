INCLUDE PERFETTO MODULE autoviz.device_slice;

-- Distinct names of device activities, from which the operations are derived.
CREATE OR REPLACE PERFETTO VIEW _autoviz_distinct_kernel_name(
  -- Name as recorded.
  name STRING,
  -- Device activities of that name.
  kernel_count LONG,
  -- Sum of their durations in ns.
  dur LONG
) AS
SELECT
  name,
  count() AS kernel_count,
  sum(dur) AS dur
FROM _autoviz_device_slice
GROUP BY
  name
ORDER BY
  name;
