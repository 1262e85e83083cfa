-- A package by name; the same name again is the same package.
INSERT INTO rule_packages (tenant_id, name) VALUES (%(tenant_id)s, %(name)s) ON CONFLICT DO NOTHING
