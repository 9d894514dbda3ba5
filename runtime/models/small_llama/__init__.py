"""A trained Llama-style model of about a million parameters, with no head that drafts."""
