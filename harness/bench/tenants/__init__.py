"""What it costs to let a deleted tenant go: what is read and asked for it, and how long it takes beside the server's own controllers."""
