"""The smallest model there is: a table of which token comes behind which, and another one that drafts."""
