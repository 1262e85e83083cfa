-- Why does a job not run?  psql -v job=UUID -f sql/dlq/explain.sql
SELECT reason, message, until, remedy FROM bpc_explain_job(:'job');
