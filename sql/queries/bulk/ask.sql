-- Ask for all that match, for whichever server comes to it.
SELECT bpc_ask_bulk(%(act)s, %(tenant_id)s::uuid, %(status)s::text, %(type)s::text, %(code)s::text, %(fingerprint)s::text,
                    NULL, %(before)s::timestamptz, %(counted)s) AS bulk_act_id
