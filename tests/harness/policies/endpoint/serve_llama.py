"""Serve a GGUF file on loopback until standard input ends: `serve_llama.py FILE CONTEXT`."""

from __future__ import annotations

import sys

import xllamacpp

if __name__ == "__main__":
    params = xllamacpp.CommonParams()
    params.model.path = sys.argv[1]
    params.n_ctx = int(sys.argv[2])
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = 1
    params.use_jinja = True
    params.cpuparams.n_threads = 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()
