-- The work of a job that has ended once more, as a new job:  psql -v job=UUID -f sql/dlq/replay.sql
SELECT bpc_replay_job(:'job') AS new_job;
