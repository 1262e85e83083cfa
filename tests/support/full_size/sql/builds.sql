INSERT INTO passport_builds (build_id, tenant_id, battery_product_id, passport_id, rule_package_version_id, law_date, state,
                             snapshot_id, passport_version_id, errors, created_at, finished_at)
SELECT md5('build ' || n)::uuid, tenant_id, battery_product_id, passport_id, rule_package_version_id, law_date, state.of,
       md5('snapshot ' || n)::uuid, CASE WHEN state.of = 'DONE' THEN passport_version_id END,
       CASE WHEN state.of = 'STOPPED' THEN '[{"file": "bom.csv", "problems": [{"pointer": "row 7, column mass_kg", "message":
         "not a number: 12,3,4"}]}]'::jsonb END,
       now() - n * interval '25 seconds', CASE WHEN state.of IN ('DONE', 'STOPPED') THEN now() - n * interval '24 seconds' END
FROM (SELECT p.*, v.passport_version_id, v.snapshot_id, v.rule_package_version_id, v.law_date,
             row_number() OVER (ORDER BY p.passport_id) AS n
      FROM passports AS p JOIN passport_versions AS v USING (passport_id) WHERE p.serial LIKE 'GEN%%') AS made
CROSS JOIN LATERAL (SELECT CASE WHEN n %% 100 = 1 THEN 'STOPPED' WHEN n %% 500 = 2 THEN 'COMPILE' WHEN n %% 500 = 3
                    THEN 'DOCUMENTS' WHEN n %% 500 = 4 THEN 'SIGN' ELSE 'DONE' END AS of) AS state
