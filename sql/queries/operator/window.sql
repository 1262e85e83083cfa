-- "Older than" and "newer than" as times of the database's clock. Never later than now: what a long action makes
-- of its own is none of its business.
SELECT clock_timestamp() - make_interval(secs => %(newer)s::double precision) AS since,
       clock_timestamp() - make_interval(secs => coalesce(%(older)s::double precision, 0)) AS before
