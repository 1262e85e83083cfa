-- Group roles (NOLOGIN), which an administrator grants to the logins of his choice, and what the schema keeps about itself.
-- Former release: keeps working.
-- Roles belong to the whole cluster, so another database may have made them already, or be making them now.
DO $$
DECLARE
  role_name text;
BEGIN
  -- bpc_web and bpc_release have no grants. Beside what bpc_app lets a login do, the first lets it name in events those
  -- who came to it, the second bring a passport into force that lacks what the law asks for.
  FOREACH role_name IN ARRAY ARRAY[
    'bpc_owner', 'bpc_worker', 'bpc_producer', 'bpc_operator', 'bpc_reader', 'bpc_app', 'bpc_web', 'bpc_release']
  LOOP
    BEGIN
      IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role_name) THEN
        EXECUTE format('CREATE ROLE %I NOLOGIN', role_name);
      END IF;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
      NULL;  -- made by another database's migration between the look and the CREATE
    END;
  END LOOP;

  -- Being a member is not enough since PostgreSQL 16: who makes a role may not become it without this.
  BEGIN
    EXECUTE format('GRANT bpc_owner TO %I', current_user);
  EXCEPTION WHEN insufficient_privilege THEN
    NULL;  -- an administrator made the roles, and has to grant this one too
  END;
END
$$;

-- Everything after this file is owned by bpc_owner; PostgreSQL 15 no longer lets everyone create in public.
GRANT USAGE, CREATE ON SCHEMA {schema} TO bpc_owner;
GRANT USAGE ON SCHEMA {schema} TO bpc_worker, bpc_producer, bpc_operator, bpc_reader, bpc_app;
GRANT SELECT, INSERT ON schema_migrations TO bpc_owner;
GRANT SELECT ON schema_migrations TO bpc_worker, bpc_producer, bpc_operator, bpc_reader, bpc_app;

-- Every text of sql/functions that was ever applied: a release whose text is in here is not newer than the database.
CREATE TABLE schema_functions (
  name       text NOT NULL,
  checksum   text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (name, checksum)
);
ALTER TABLE schema_functions OWNER TO bpc_owner;
GRANT SELECT ON schema_functions TO bpc_worker, bpc_producer, bpc_operator, bpc_reader, bpc_app;
