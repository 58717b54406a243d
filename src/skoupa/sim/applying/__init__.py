"""What a patch makes of an object, and who owns which of its fields: plain data in, plain data out."""
