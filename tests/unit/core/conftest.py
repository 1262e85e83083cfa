"""No deadline for a single generated example: machines are busy, and these tests are not about time."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
