"""The papers' experiments: `as2 reproduce NAME`."""
