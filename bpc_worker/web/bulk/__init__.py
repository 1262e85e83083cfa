"""Acts on many dead letters: asked for by a person, carried out by whichever server comes to it."""
