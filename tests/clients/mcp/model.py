"""A model that plays a script: it calls the tools of `steps.json` one after the other, as `chat/completions` and as `messages`.

Which step is next follows from the conversation alone. The first question is refused with 429, so that clients try again.
"""

import http.server
import json
import re
import threading


class Model(http.server.ThreadingHTTPServer):
    def __init__(self, steps):
        super().__init__(("127.0.0.1", 0), Handler)
        self.steps = steps
        self.questions = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


def results(message):
    """What the calls before a message came to."""
    if message["role"] == "tool":
        return [message["content"]]
    content = message["content"]
    return [part["content"] for part in content if part["type"] == "tool_result"] if isinstance(content, list) else []


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.questions += 1
        if self.server.questions == 1:
            self.send_response(429)
            self.send_header("retry-after", "0")
            self.send_header("content-length", "0")
            return self.end_headers()
        messages, steps = body["messages"], self.server.steps
        said = [text for message in messages if message["role"] != "assistant" for text in results(message)]
        known = {}
        for step, text in zip(steps, said):
            for name, member in step.get("pick", {}).items():
                known[name] = json.loads(text)[member]
        number = len(said)
        step = steps[number]
        arguments = re.sub(r"\{\{(\w+)\}\}", lambda found: known[found[1]], json.dumps(step["arguments"]))
        events = self.openai if self.path.endswith("/chat/completions") else self.anthropic
        answer = "".join(f"data: {event}\n\n" for event in events(f"call_{number}", step["tool"], arguments)).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def openai(self, call, tool, arguments):
        function = {"name": tool, "arguments": arguments}
        delta = {"content": "Next.", "tool_calls": [{"index": 0, "id": call, "type": "function", "function": function}]}
        yield json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        yield json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
        yield json.dumps({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10}})
        yield "[DONE]"

    def anthropic(self, call, tool, arguments):
        yield json.dumps({"type": "message_start", "message": {"usage": {"input_tokens": 100, "output_tokens": 1}}})
        block = {"type": "tool_use", "id": call, "name": tool, "input": {}}
        yield json.dumps({"type": "content_block_start", "index": 0, "content_block": block})
        delta = {"type": "input_json_delta", "partial_json": arguments}
        yield json.dumps({"type": "content_block_delta", "index": 0, "delta": delta})
        stop = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 10}}
        yield json.dumps(stop)
        yield json.dumps({"type": "message_stop"})

    def log_message(self, *_):
        pass
