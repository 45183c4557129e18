"""What an experiment says: verdicts on findings, the papers' tables, and the page with both."""
