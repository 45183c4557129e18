"""Rankers over HTTP, for the clients that people have: of Cohere, Jina, vLLM and Hugging Face's TEI.

`routes` is the application, `bodies` what comes in and goes out, `relevance` how a score becomes a number from 0 to 1,
`rankers` what is served, `limits` how much a client may send.
"""
