-- Every constraint but NOT NULL: state, and how to make it so.
SELECT CASE k.contype WHEN 'p' THEN 'primary key' WHEN 'u' THEN 'unique' WHEN 'f' THEN 'foreign key' ELSE 'check' END
         AS kind,
       c.relname || '.' || k.conname AS name, c.relname AS part_of, pg_get_constraintdef(k.oid) AS state,
       format('ALTER TABLE public.%I ADD CONSTRAINT %I %s', c.relname, k.conname, pg_get_constraintdef(k.oid)) AS make,
       format('ALTER TABLE public.%I DROP CONSTRAINT %I, ADD CONSTRAINT %2$I %3$s',
              c.relname, k.conname, pg_get_constraintdef(k.oid)) AS change,
       format('ALTER TABLE public.%I DROP CONSTRAINT %I', c.relname, k.conname) AS unmake
FROM pg_constraint AS k
JOIN pg_class AS c ON c.oid = k.conrelid
WHERE c.relnamespace = 'public'::regnamespace AND k.contype IN ('p', 'u', 'f', 'c')
