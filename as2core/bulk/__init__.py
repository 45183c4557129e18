"""Bulk work on Ray: the same functions, mapped over the cores of this machine or of a cluster (the extra `ray`).

`pool` starts or joins Ray and hands out chunks, `packing` and `packed_ranker` take a ranker to the nodes, `ranking`
scores questions, `embedding` makes vectors of passages.
"""
