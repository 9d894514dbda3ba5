"""A key/value cache in pages: who uses which, and what is known already. Nothing here touches a tensor."""
