"""A request from end to end: understood, carried out, and answered with an object, a list, a watch or a refusal."""
