"""The server: what the command line tells and does, over HTTP, documented by itself.

server.py        the process: listens, refuses what is unsafe, stops in order
wire.py          HTTP/1.1, with bounds of the head before any of our code
application.py   from resources to one ASGI application
frame.py         around every request: its id, its host, its end, whatever happens inside
endpoint.py      one request's road: guard, limits, decode, handler, encode
guard.py         who asks, and how often; deny by default
routes.py        how a route is declared: a plain function with types
decoding.py      from path, query and body to those types, or a problem that points at the field
problems.py      every failure as RFC 9457 tells it
answers.py       ETag, compression, the bytes that are sent
preconditions.py If-Match: only what the caller has seen is changed
repeating.py     Idempotency-Key
sharing.py       who asks the same at the same time gets the same reading
services.py      what handlers work with: connections for reading, and the client for the rest
stream/          what changes, told to those who listen
openapi.py       the document that is generated from the routes      samples.py   its examples
docs_page.py     the same for people
gateway/         what remote workers ask, as sets
resources/       one file for each resource: to add one, write it and list it in `catalogue.py`
places.py        which file has which path; generated
local.py         the routes without a server, for a command beside its database
"""
