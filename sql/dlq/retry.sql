-- Retry one dead letter or failure at once:  psql -v job=UUID -f sql/dlq/retry.sql
SELECT bpc_retry_job(:'job');
