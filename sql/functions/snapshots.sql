-- Once per statement; the snapshot is held, so nobody seals it between this look and the commit.
CREATE OR REPLACE FUNCTION bpc_guard_snapshot_items() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  snapshot record;
BEGIN
  FOR snapshot IN
    SELECT s.snapshot_id, s.status FROM data_snapshots AS s
    WHERE s.snapshot_id IN (SELECT a.snapshot_id FROM added AS a)
    FOR SHARE
  LOOP
    IF snapshot.status <> 'BUILDING' THEN
      RAISE EXCEPTION 'snapshot % is %: nothing more goes into it', snapshot.snapshot_id, snapshot.status
        USING ERRCODE = 'restrict_violation', HINT = 'Make another snapshot.';
    END IF;
  END LOOP;
  RETURN NULL;
END
$$;

-- What is in a sealed snapshot stays, in retention too: passports are made again from it.
CREATE OR REPLACE FUNCTION bpc_guard_snapshot_item() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  IF NOT bpc_in_retention()
     OR EXISTS (SELECT FROM data_snapshots AS s WHERE s.snapshot_id = OLD.snapshot_id AND s.status = 'SEALED') THEN
    RAISE EXCEPTION 'snapshot_items: DELETE is refused: make another snapshot' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN OLD;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_guard_snapshot_items, bpc_guard_snapshot_item FROM PUBLIC;
