INCLUDE PERFETTO MODULE autoviz.patterns;

INCLUDE PERFETTO MODULE autoviz.source.anomaly_group;

INCLUDE PERFETTO MODULE autoviz.source.capture;

INCLUDE PERFETTO MODULE autoviz.source.kernel_anomaly;

INCLUDE PERFETTO MODULE autoviz.source.pattern;

INCLUDE PERFETTO MODULE autoviz.source.run_anomaly;

INCLUDE PERFETTO MODULE autoviz.source.straggler;

-- Runs of a pattern on this rank that may be compared, by test: how many were
-- judged, why others were not, and how many are flagged.
CREATE OR REPLACE PERFETTO VIEW autoviz_anomaly_group(
  -- Number of the row, unique over all ranks.
  id LONG,
  -- Rank of the recorded process. NULL if unknown.
  rank LONG,
  -- The group, which has a row for each test.
  group_id LONG,
  -- The pattern.
  pattern_id LONG,
  -- Name of the pattern.
  pattern STRING,
  -- What the runs have in common, e.g. decode bs 32.
  name STRING,
  -- Phase of their steps.
  phase STRING,
  -- requests, or tokens that are prefilled.
  size_unit STRING,
  -- Smallest size of their steps.
  least_size LONG,
  -- Largest size of their steps.
  most_size LONG,
  -- Kind of the layer that they lie in.
  layer_kind STRING,
  -- duration, or autoencoder.
  test STRING,
  -- Runs of the group.
  run_count LONG,
  -- Runs that the test could judge.
  judged_count LONG,
  -- Runs that it flags.
  flagged_count LONG,
  -- Why runs are not judged.
  reason STRING,
  -- Mean duration in ns, where the test is of durations.
  mean_dur DOUBLE,
  -- Standard deviation of the duration in ns.
  std_dur DOUBLE,
  -- What is flagged, in words.
  threshold STRING
) AS
SELECT
  found.id,
  (SELECT rank FROM _autoviz_src_capture) AS rank,
  found.group_id,
  found.pattern_id,
  pattern.name AS pattern,
  found.name,
  found.phase,
  found.size_unit,
  found.least_size,
  found.most_size,
  found.layer_kind,
  found.test,
  found.run_count,
  found.judged_count,
  found.flagged_count,
  found.reason,
  found.mean_dur,
  found.std_dur,
  found.threshold
FROM _autoviz_src_anomaly_group AS found
JOIN _autoviz_src_pattern AS pattern
  ON pattern.id = found.pattern_id;

-- Runs of patterns on this rank that a test flags.
CREATE OR REPLACE PERFETTO VIEW autoviz_run_anomaly(
  -- Number of the row, unique over all ranks.
  id LONG,
  -- Rank of the recorded process. NULL if unknown.
  rank LONG,
  -- Start in ns; NULL if no device activity belongs to the row.
  ts TIMESTAMP,
  -- Duration in ns; NULL if no device activity belongs to the row.
  dur DURATION,
  -- The run.
  run_id LONG,
  -- Number of the run among those of its pattern on this rank, from 0.
  number LONG,
  -- The pattern.
  pattern_id LONG,
  -- Name of the pattern.
  pattern STRING,
  -- Level of the pattern.
  level LONG,
  -- The group that it was compared with.
  group_id LONG,
  -- The most specific test that flags it: sequence, kernel, drift or
  -- duration.
  test STRING,
  -- All tests that flag it, comma-separated.
  tests STRING,
  -- slow or fast.
  side STRING,
  -- Score of the test.
  score DOUBLE,
  -- What the score exceeds.
  threshold DOUBLE,
  -- run time, idle time or order.
  channel STRING,
  -- Duration in ns beyond the normal one; negative if shorter.
  excess LONG,
  -- Place by the size of the excess over all ranks, from 1.
  ranking LONG,
  -- What is abnormal, in words.
  explanation STRING
) AS
SELECT
  found.id,
  (SELECT rank FROM _autoviz_src_capture) AS rank,
  found.ts,
  found.dur,
  found.run_id,
  run.number,
  found.pattern_id,
  pattern.name AS pattern,
  found.level,
  found.group_id,
  found.test,
  found.tests,
  found.side,
  found.score,
  found.threshold,
  found.channel,
  found.excess,
  found.ranking,
  found.explanation
FROM _autoviz_src_run_anomaly AS found
JOIN _autoviz_src_pattern AS pattern
  ON pattern.id = found.pattern_id
JOIN _autoviz_src_pattern_run AS run
  ON run.id = found.run_id;

-- Number of the first of the device activities that share a blamed one's key.
CREATE OR REPLACE PERFETTO TABLE _autoviz_blamed_kernel(
  -- Row of the blamed activity.
  kernel_anomaly_id LONG,
  -- Number of the activity.
  seq LONG
) AS
SELECT
  found.id AS kernel_anomaly_id,
  min(kernel.seq) + found.tie AS seq
FROM _autoviz_src_kernel_anomaly AS found
JOIN _autoviz_device_slice AS kernel
  ON kernel.ts = found.ts
  AND kernel.dur = found.dur
  AND kernel.pid IS found.pid
  AND kernel.tid IS found.tid
  AND kernel.correlation IS found.correlation
GROUP BY
  found.id,
  found.tie;

-- Device activities that are to blame for an abnormal run of this rank.
CREATE OR REPLACE PERFETTO VIEW autoviz_kernel_anomaly(
  -- Number of the row, unique over all ranks.
  id LONG,
  -- Rank of the recorded process. NULL if unknown.
  rank LONG,
  -- Start in ns; NULL if no device activity belongs to the row.
  ts TIMESTAMP,
  -- Duration in ns; NULL if no device activity belongs to the row.
  dur DURATION,
  -- Number of the activity; joins autoviz_kernel.seq. NULL for a missing one.
  seq LONG,
  -- The abnormal run.
  run_anomaly_id LONG,
  -- The run.
  run_id LONG,
  -- Position in the run, repeats of inner loops counted out.
  position LONG,
  -- Canonical operation; of a missing one, that which should run.
  op STRING,
  -- plain, missing, extra or swapped.
  kind STRING,
  -- The test that flags the run.
  test STRING,
  -- run time, idle time (before it) or order.
  channel STRING,
  -- How far from normal, in the unit of the threshold.
  score DOUBLE,
  -- What the largest score of a normal run may reach.
  threshold DOUBLE,
  -- Time in ns beyond the normal one; negative if shorter.
  excess LONG,
  -- Part of the run's excess.
  share DOUBLE,
  -- Normal time in ns; negative if it normally overlaps.
  normal DOUBLE,
  -- Robust standard deviation of the normal time in ns.
  spread DOUBLE,
  -- Place among what is to blame for the run, from 1.
  ranking LONG,
  -- What is abnormal, in words.
  explanation STRING
) AS
SELECT
  found.id,
  (SELECT rank FROM _autoviz_src_capture) AS rank,
  found.ts,
  found.dur,
  blamed.seq,
  found.run_anomaly_id,
  found.run_id,
  found.position,
  found.op,
  found.kind,
  found.test,
  found.channel,
  found.score,
  found.threshold,
  found.excess,
  found.share,
  found.normal,
  found.spread,
  found.ranking,
  found.explanation
FROM _autoviz_src_kernel_anomaly AS found
LEFT JOIN _autoviz_blamed_kernel AS blamed
  ON blamed.kernel_anomaly_id = found.id;

-- A run in which one rank was late, by the work that it does itself:
-- collectives, in which ranks wait for one another, are left out. Clocks are
-- not compared.
CREATE OR REPLACE PERFETTO VIEW autoviz_straggler(
  -- The pattern.
  pattern_id LONG,
  -- Name of the pattern.
  pattern STRING,
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
  found.pattern_id,
  pattern.name AS pattern,
  found.number,
  found.late_rank,
  found.late,
  found.usual,
  found.work,
  found.wait
FROM _autoviz_src_straggler AS found
JOIN _autoviz_src_pattern AS pattern
  ON pattern.id = found.pattern_id;
