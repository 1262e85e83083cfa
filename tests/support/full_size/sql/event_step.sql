INSERT INTO events (tenant_id, aggregate_type, aggregate_id, aggregate_version, event_type, occurred_at, actor_id,
                    payload_text, payload_hash, prev_event_hash, event_hash)
SELECT p.tenant_id, 'passport', p.passport_id, %(version)s, %(type)s, moment.at, 'login:generated', said.text, said.hash,
       before.event_hash,
       bpc_event_hash(p.tenant_id, 'passport', p.passport_id, %(version)s, %(type)s, moment.at, 'login:generated',
                      said.hash, before.event_hash)
FROM passports AS p
LEFT JOIN events AS before
  ON before.tenant_id = p.tenant_id AND before.aggregate_type = 'passport' AND before.aggregate_id = p.passport_id
  AND before.aggregate_version = %(version)s - 1
CROSS JOIN LATERAL (SELECT p.created_at + %(version)s * interval '1 minute' AS at) AS moment
CROSS JOIN LATERAL (SELECT '{"generated":true,"salt":"' || md5(p.passport_id::text || %(version)s) || '"}' AS text) AS payload
CROSS JOIN LATERAL (SELECT payload.text, sha256(convert_to(payload.text, 'UTF8')) AS hash) AS said
WHERE p.serial LIKE 'GEN%%'
