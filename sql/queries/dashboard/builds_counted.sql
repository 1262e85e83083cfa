-- How many builds are at which stage, each as far as `most`; of those that are done the newest.
SELECT state.state, counted.n
FROM unnest(ARRAY['DOCUMENTS', 'SNAPSHOT', 'COMPILE', 'SIGN', 'QR', 'STOPPED']) AS state (state)
CROSS JOIN LATERAL (
  SELECT count(*) AS n FROM (
    SELECT FROM passport_builds AS b WHERE b.state = state.state AND b.state <> 'DONE' LIMIT %(most)s) AS bounded
) AS counted
