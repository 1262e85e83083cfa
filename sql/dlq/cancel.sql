-- Cancel a queued job now, a running one within a second:  psql -v job=UUID -f sql/dlq/cancel.sql
SELECT bpc_cancel_job(:'job');
