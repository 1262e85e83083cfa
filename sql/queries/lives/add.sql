-- What a battery is from now on, and who answers for it.
INSERT INTO passport_lives (tenant_id, passport_id, status, operator_id, reason)
VALUES (%(tenant_id)s, %(passport_id)s, %(status)s, %(operator_id)s, %(reason)s)
