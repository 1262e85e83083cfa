-- What a passport version lacks of what the law asks for, and the gate before it comes into force.
-- Former release: must stop.
-- Functions first: guards, gate

-- Canonical JSON, with the payload's salt in it: what was compared before the signature is told by its hash.
ALTER TABLE passport_versions ADD COLUMN gaps bytea NOT NULL;

CREATE TRIGGER passport_versions_keep_gaps BEFORE UPDATE OF gaps ON passport_versions
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('what was compiled never changes');
CREATE TRIGGER passport_versions_gate BEFORE UPDATE OF status ON passport_versions
FOR EACH ROW WHEN (OLD.status = 'SIGNED' AND NEW.status = 'ACTIVE') EXECUTE FUNCTION bpc_guard_gate();
CREATE TRIGGER events_release BEFORE INSERT ON events
FOR EACH ROW WHEN (NEW.event_type = 'PASSPORT_RELEASED') EXECUTE FUNCTION bpc_guard_release();

GRANT SELECT (gaps) ON passport_versions TO bpc_operator, bpc_reader;
