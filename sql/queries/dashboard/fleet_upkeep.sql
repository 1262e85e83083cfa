-- How the upkeep of the queue stands: when it was counted, how far the removal of what is old has come, who has suspects.
SELECT t.sampled_at, t.queued, p.began_at, p.behind_since, p.rests_until, w.owner AS suspects_owner, w.until AS suspects_until
FROM queue_totals AS t, prune_progress AS p, suspect_watch AS w
