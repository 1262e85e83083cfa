"""The API: what a manufacturer's systems send and fetch, /v1."""
