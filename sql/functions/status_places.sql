-- Where the n-th version of a list stands: a permutation of its 2^17 places that only the key's owner can follow, so that
-- neighbours in a list are not neighbours in production. Four Feistel rounds over 9 and 8 bits.
CREATE OR REPLACE FUNCTION bpc_status_place(key bytea, n integer) RETURNS integer
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  high integer := n >> 8;
  low integer := n & 255;
  digest bytea;
BEGIN
  FOR round IN 0..3 LOOP
    digest := sha256(key || int4send(round) || 'low'::bytea || int4send(low));
    high := high # ((get_byte(digest, 0) << 1) | (get_byte(digest, 1) & 1));
    digest := sha256(key || int4send(round) || 'high'::bytea || int4send(high));
    low := low # get_byte(digest, 0);
  END LOOP;
  RETURN (high << 8) | low;
END
$$;

-- The place of a version in a list of its issuer: the same whenever it is asked for again. A full list is followed by
-- another. The list's row is held until the transaction ends, so it should be a short one.
CREATE OR REPLACE FUNCTION bpc_allot_status(of_version uuid, of_issuer text)
RETURNS TABLE (status_list integer, status_idx integer)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  taken record;
BEGIN
  IF NOT EXISTS (SELECT FROM status_places WHERE tenant_id = bpc_tenant() AND passport_version_id = of_version) THEN
    LOOP
      UPDATE status_lists SET allotted = allotted + 1, open = allotted < 131071
      WHERE tenant_id = bpc_tenant() AND issuer = of_issuer AND open
      RETURNING status_list AS list, bpc_status_place(shuffle_key, allotted - 1) AS idx INTO taken;
      EXIT WHEN FOUND;
      INSERT INTO status_lists (tenant_id, issuer, shuffle_key)
      VALUES (bpc_tenant(), of_issuer, uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
      ON CONFLICT DO NOTHING;
    END LOOP;
    INSERT INTO status_places (passport_version_id, tenant_id, status_list, status_idx)
    VALUES (of_version, bpc_tenant(), taken.list, taken.idx)
    ON CONFLICT (passport_version_id) DO NOTHING;
  END IF;
  RETURN QUERY SELECT p.status_list, p.status_idx FROM status_places AS p
               WHERE p.tenant_id = bpc_tenant() AND p.passport_version_id = of_version;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_status_place, bpc_allot_status FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_allot_status TO bpc_worker;
