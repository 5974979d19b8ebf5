"""The passport of a release: what it is, in the formats that registries, catalogues and archives read."""
