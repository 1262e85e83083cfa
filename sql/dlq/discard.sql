-- Give up one dead letter or failure for good (CANCELLED):  psql -v job=UUID -f sql/dlq/discard.sql
SELECT bpc_discard_job(:'job');
