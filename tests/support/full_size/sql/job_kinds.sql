CREATE TEMP TABLE job_kinds AS
SELECT row_number() OVER () - 1 AS kind_id, * FROM (VALUES
  ('INGEST_DOCUMENT', 'default', '{"external_ref": "bom.csv", "kind": "BOM", "mime_type": "text/csv"}'::jsonb),
  ('PARSE_FACTS', 'default', '{"document_version_id": "01a1f037-d1c7-7240-bc4e-752e56066b5b"}'),
  ('PARSE_FACTS', 'bulk', '{"document_version_id": "01a1f037-d1ea-7565-a259-39ffcd0b9adf"}'),
  ('BUILD_SNAPSHOT', 'default', '{"snapshot_id": "01a1f037-d61a-7633-83e6-6269aaec41da"}'),
  ('COMPILE_PASSPORT', 'default', '{"law_date": "2027-02-18"}'),
  ('COMPILE_PASSPORT', 'bulk', '{"law_date": "2027-02-18"}'),
  ('SIGN_PASSPORT', 'signing', '{"passport_version_id": "f90a07ed-852e-5b26-8090-e6cbed73a321"}'),
  ('GENERATE_QR', 'default', '{"passport_version_id": "f90a07ed-852e-5b26-8090-e6cbed73a321"}'),
  ('EXPORT_PASSPORT', 'bulk', '{"format": "view", "audience": "public"}'),
  ('DELIVER_WEBHOOK', 'webhooks', '{"webhook_delivery_id": "01a1f037-d1c7-7240-bc4e-752e56066b5b"}'),
  ('RUN_COMMAND', 'reports', '{"command": "nightly-report"}'),
  ('RECORD_DEAD_LETTER', 'default', '{"job_id": "01a1f037-d1c7-7240-bc4e-752e56066b5b"}')
) AS kinds (type, queue, payload)
