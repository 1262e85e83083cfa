-- Stop claims of a queue, a type or a tenant.
SELECT bpc_pause(%(kind)s, %(name)s, %(reason)s, clock_timestamp() + make_interval(secs => %(seconds)s::double precision))
