-- Removes a page of what the API remembers for longer than a day, of all tenants; how much it was.
CREATE OR REPLACE FUNCTION bpc_forget_api_requests(page integer DEFAULT 1000) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  forgotten integer;
BEGIN
  DELETE FROM api_requests WHERE api_request_id = ANY (ARRAY(
    SELECT r.api_request_id FROM api_requests AS r
    WHERE r.created_at < now() - interval '1 day'
    ORDER BY r.created_at LIMIT page
    FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS forgotten = ROW_COUNT;
  RETURN forgotten;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_forget_api_requests FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_forget_api_requests TO bpc_app;
