"""Run llama.cpp's HTTP server, as the package xllamacpp carries it: in .venv-engines, by `engines_llamacpp.llamacpp`.

llamacpp_server.py MODEL.gguf PORT CONTEXT [TEMPLATE.jinja]
"""

import signal
import sys
from pathlib import Path

import xllamacpp

model, port, context, *template = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path, params.port, params.n_ctx, params.n_parallel = model, int(port), int(context), 1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
if template:
    params.chat_template = Path(template[0]).read_text()
server = xllamacpp.Server(params)
signal.pause()
