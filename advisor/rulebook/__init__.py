"""Rules: their schema, the condition language, loading and evaluation."""
