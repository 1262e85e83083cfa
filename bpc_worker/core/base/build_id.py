"""What the semantics of compiled passports are called; apart, so that naming them costs no import."""

COMPILER_BUILD_ID = "bpc-core-2"  # bumped only when a golden vector changes
