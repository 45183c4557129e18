"""Rankers over HTTP, for the clients that people have: of Cohere, Jina, vLLM, Hugging Face's TEI and OpenAI.

`routes` is the application, `bodies` what comes in, `answers` what goes out, `rankers` and `embeddings` what is served.
A request goes through `connections`, `limits` and `keys`, then waits in `queued_work` for its turn by `fair_queue`.
"""
