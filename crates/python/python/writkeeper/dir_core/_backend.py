"""What every service says when it is given nowhere to keep things."""

MISSING_BACKEND = "Provide either 'db_path' (SQLite) or 'storage' (custom backend)."
