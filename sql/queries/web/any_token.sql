-- Whether there is a token that would open a door.
SELECT EXISTS (SELECT FROM api_tokens WHERE revoked_at IS NULL AND expires_at > now()) AS found
