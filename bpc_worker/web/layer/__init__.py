"""A small layer over aiohttp's server: routes as a table, typed requests and answers, limits, headers."""
