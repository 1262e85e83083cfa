"""What a phone opens: the public passport behind the code on a battery."""
