"""The server that the library of the embedded model brings, until its input ends.

It prints its address; its argument is its key. Its chat template offers tools in the form that most
open models are trained on, which the template of the weights does not: calls then come as the
server's own parser reads them.
"""

from __future__ import annotations

import sys

import xllamacpp

from whorl.providers.models.local import weights_path

TEMPLATE = """
{%- if tools %}<|im_start|>system
<tools>{% for tool in tools %}
{{ tool | tojson }}{% endfor %}
</tools>
Call: <tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'assistant' and message.tool_calls %}<|im_start|>assistant
{%- for called in message.tool_calls %}
<tool_call>
{"name": "{{ called.function.name }}", "arguments": {{ called.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% elif message.role == 'tool' %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% else %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def main() -> None:
    params = xllamacpp.CommonParams()
    params.model.path = str(weights_path())
    params.chat_template, params.use_jinja = TEMPLATE, True
    params.n_ctx, params.n_parallel = 1_024, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.verbosity = -1
    params.fit_params = params.warmup = params.ui = False
    params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, sys.argv[1:]
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
