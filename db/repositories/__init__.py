"""Reading and writing rows, one module a subject. Everything takes a session first and nothing commits."""
