"""Who needs what: which objects use which others, and which have finished. Rules are data; this room sends no request."""
