"""Connections by role: what a page, an act and a tenant may see, the database decides."""
