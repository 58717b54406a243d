"""What commands share at the edge: objects and times as they are typed, tables and documents as they are printed, signals."""
