"""policy/retention/: what users wrote as RetentionPolicy: reading with what to write instead, what it is about, which of several counts."""
