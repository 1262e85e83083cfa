-- Roles of the doors: bpc_public reads what is made to be read by anybody; bpc_web becomes a reader, an operator or an owner
-- by SET ROLE, and is nothing by itself. Who looks (bpc_reader) sees the rows of all tenants.
-- Former release: keeps working.
-- Functions first: who

RESET ROLE;  -- roles are made by whoever migrates, as the first of them were; bpc_owner may not

-- Roles belong to the whole cluster: another database may have done it already, or be doing it now.
DO $$
DECLARE
  taken text;
  has_grant_options constant boolean := current_setting('server_version_num')::integer >= 160000;
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'bpc_public') THEN
    BEGIN
      CREATE ROLE bpc_public NOLOGIN;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
      NULL;
    END;
  END IF;

  -- Before the grants: PostgreSQL 15 asks the member whether it inherits, later ones ask the grant.
  IF (SELECT rolinherit FROM pg_roles WHERE rolname = 'bpc_web') THEN
    BEGIN
      ALTER ROLE bpc_web NOINHERIT;
    EXCEPTION WHEN internal_error OR insufficient_privilege THEN
      NULL;  -- "tuple concurrently updated": somebody else has just done it; or see below
    END;
  END IF;
  FOREACH taken IN ARRAY ARRAY['bpc_reader', 'bpc_operator', 'bpc_app'] LOOP
    IF NOT pg_has_role('bpc_web', taken, 'MEMBER') OR pg_has_role('bpc_web', taken, 'USAGE') THEN
      BEGIN
        EXECUTE format(CASE WHEN has_grant_options THEN 'GRANT %I TO bpc_web WITH INHERIT FALSE, SET TRUE'
                       ELSE 'GRANT %I TO bpc_web' END, taken);
      EXCEPTION WHEN internal_error OR unique_violation OR insufficient_privilege THEN
        NULL;
      END;
    END IF;
    IF NOT pg_has_role('bpc_web', taken, 'MEMBER') OR pg_has_role('bpc_web', taken, 'USAGE') THEN
      RAISE EXCEPTION 'bpc_web has to be a member of % that does not inherit', taken
        USING ERRCODE = 'insufficient_privilege', HINT = format(
          'As whoever made these roles, or a superuser: ALTER ROLE bpc_web NOINHERIT; GRANT %s TO bpc_web%s;', taken,
          CASE WHEN has_grant_options THEN ' WITH INHERIT FALSE, SET TRUE' ELSE '' END);
    END IF;
  END LOOP;
END
$$;

SET LOCAL ROLE bpc_owner;

GRANT USAGE ON SCHEMA {schema} TO bpc_public, bpc_web;
-- Here, as its own file is made before there is that role: policies ask it, whoever reads.
GRANT EXECUTE ON FUNCTION bpc_tenant TO bpc_public;

-- Only where the transaction has named no tenant: whoever is an owner too reads as one when it speaks for one. Asked once
-- for a statement, and not for each row.
DO $$
DECLARE
  domain_table regclass;
BEGIN
  FOR domain_table IN
    SELECT polrelid FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid
    WHERE polname = 'own_tenant' AND relnamespace = '{schema}'::regnamespace
  LOOP
    EXECUTE format('CREATE POLICY all_tenants ON %s FOR SELECT TO bpc_reader USING ((SELECT bpc_tenant()) IS NULL)',
                   domain_table);
  END LOOP;
END
$$;

ALTER TABLE job_pauses ALTER COLUMN paused_by SET DEFAULT bpc_who();
ALTER TABLE job_pause_events ALTER COLUMN by SET DEFAULT bpc_who();
