"""What every service says when it is given nowhere to keep things."""

MISSING_BACKEND = (
    "Provide either db_path, the path of an SQLite file, or storage, an object of your own."
)
