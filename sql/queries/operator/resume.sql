-- Let claims go on; whether it was paused.
SELECT bpc_resume(%(kind)s, %(name)s) AS resumed
