"""Rankers inside other libraries, without a server: a module a library, which imports it."""
