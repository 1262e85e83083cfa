CREATE TEMP TABLE death_causes (cause_id integer PRIMARY KEY, code text, retryable boolean, message text)
