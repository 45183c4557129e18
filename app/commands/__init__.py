"""The commands that need the database, one file a subject. `app.cli` mounts them on `as2`."""
