"""A trained DeepSeek-style model of under two million parameters, with its NextN head."""
