-- What the messages of one cause have in common: without ids, numbers, hashes and what stands in quotes.
-- An index is made of both functions: they may never answer otherwise. A better one has another name.
CREATE OR REPLACE FUNCTION bpc_cause_pattern(message text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN left(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
  left(message, 1000),
  '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}', '<id>', 'g'),
  '"[^"]*"|`[^`]*`|«[^»]*»|“[^”]*”|(?<![A-Za-z0-9])''[^'']*''(?![A-Za-z0-9])', '<text>', 'g'),
  '(?<![A-Za-z0-9])(?=[a-fA-F]*[0-9])[0-9a-fA-F]{8,}(?![A-Za-z0-9])', '<hash>', 'g'),
  '[0-9]+([.,:][0-9]+)*', '<n>', 'g'), 300);

-- Short enough for an address, long enough for the causes of one installation.
CREATE OR REPLACE FUNCTION bpc_fingerprint(message text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN substr(encode(sha256(convert_to(coalesce(bpc_cause_pattern(message), ''), 'UTF8')), 'hex'), 1, 12);

-- Whoever writes a job's row makes the entry of the index.
REVOKE EXECUTE ON FUNCTION bpc_cause_pattern, bpc_fingerprint FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_cause_pattern, bpc_fingerprint
  TO bpc_worker, bpc_producer, bpc_operator, bpc_reader, bpc_app;
