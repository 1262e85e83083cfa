INSERT INTO job_pauses (kind, name, reason, paused_by) VALUES
  ('queue', 'reports', 'the report server moves house', 'mira'),
  ('type', 'EXPORT_PASSPORT', 'the folder is full', 'jon')
