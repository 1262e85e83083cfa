-- What a passport is made from stands before it does, whoever inserts it. The key is held until the commit, so
-- that it is not retired under a version that names it.
CREATE OR REPLACE FUNCTION bpc_guard_new_passport_version() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  found_status text;
BEGIN
  SELECT status INTO found_status FROM data_snapshots
  WHERE tenant_id = NEW.tenant_id AND snapshot_id = NEW.snapshot_id;
  IF found_status IS DISTINCT FROM 'SEALED' THEN
    RAISE EXCEPTION 'snapshot % is not SEALED', NEW.snapshot_id USING ERRCODE = 'restrict_violation';
  END IF;
  SELECT status INTO found_status FROM rule_package_versions
  WHERE tenant_id = NEW.tenant_id AND rule_package_version_id = NEW.rule_package_version_id;
  IF found_status IS DISTINCT FROM 'PUBLISHED' THEN
    RAISE EXCEPTION 'rules % are not PUBLISHED', NEW.rule_package_version_id USING ERRCODE = 'restrict_violation';
  END IF;
  SELECT status INTO found_status FROM signing_keys
  WHERE tenant_id = NEW.tenant_id AND key_id = NEW.signing_key_id FOR SHARE;
  IF found_status IS DISTINCT FROM 'ACTIVE' THEN
    RAISE EXCEPTION 'key % is not ACTIVE', NEW.signing_key_id USING ERRCODE = 'restrict_violation';
  END IF;
  IF NEW.status <> 'COMPILING' THEN
    RAISE EXCEPTION 'a passport version begins as COMPILING' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END
$$;

-- What is said of rules, that their tests passed, somebody has seen. Who runs tests is bpc_worker: nobody else writes runs.
-- The text of a version never changes, so a run of the version is a run of this text.
CREATE OR REPLACE FUNCTION bpc_guard_tested() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM rule_tests_runs
                 WHERE tenant_id = NEW.tenant_id AND rule_package_version_id = NEW.rule_package_version_id
                   AND passed AND cases >= 500) THEN
    RAISE EXCEPTION 'rules % have no run of their tests that passed with 500 cases', NEW.rule_package_version_id
      USING ERRCODE = 'restrict_violation', HINT = 'Queue RUN_RULE_TESTS: bpc-worker rules run-tests.';
  END IF;
  RETURN NEW;
END
$$;

-- A key that was revoked since the version was compiled signs nothing more.
CREATE OR REPLACE FUNCTION bpc_guard_signature() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  found_status text;
BEGIN
  SELECT status INTO found_status FROM signing_keys
  WHERE tenant_id = NEW.tenant_id AND key_id = NEW.signing_key_id AND public_key = NEW.public_key FOR SHARE;
  IF found_status IS DISTINCT FROM 'ACTIVE' THEN
    RAISE EXCEPTION 'key % is not ACTIVE, or not the registered one', NEW.signing_key_id
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END
$$;

-- The update has waited for those who hold the key; an older view than this moment's would not show what they made.
CREATE OR REPLACE FUNCTION bpc_guard_key_in_use() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'a key is retired in a READ COMMITTED transaction' USING ERRCODE = 'restrict_violation';
  END IF;
  IF EXISTS (SELECT FROM passport_versions
             WHERE tenant_id = OLD.tenant_id AND signing_key_id = OLD.key_id AND status = 'COMPILING') THEN
    RAISE EXCEPTION 'key % is named by passport versions that are not signed yet', OLD.key_id
      USING ERRCODE = 'restrict_violation', HINT = 'Wait until SIGN_PASSPORT has signed them.';
  END IF;
  RETURN NEW;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_guard_new_passport_version, bpc_guard_tested, bpc_guard_signature,
  bpc_guard_key_in_use FROM PUBLIC;
