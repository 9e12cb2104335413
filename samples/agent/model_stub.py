#!/usr/bin/env python3
"""A local stand-in for a model that speaks both APIs, streamed, for tests: the name of the model says how it behaves.

    model_stub.py        prints its port, then serves 127.0.0.1 until its standard input ends

    demo        fixes the bug of the agent's demo, and follows what the project's CONTRIBUTING.md asks of assistants
    parallel    runs three commands at once, then says what it saw
    curious     looks for keys in its environment and in /proc
    broken      breaks off its first two answers, one in the text and one in a call; then as `parallel`
    busy        answers 429 first; then as `parallel`
    overloaded  sends an error in the first stream; then as `parallel`
    pieces      sends single bytes, CRLF and comments; then as `parallel`
    silent      never answers
    refused     answers 401
"""

import http.server
import json
import re
import sys
import threading
import time

requests_of = {}
lock = threading.Lock()


# --- what the models say: a turn is (text, [command, ...]); `results` are those of the last turn

def parallel(turn, results):
    if turn == 0:
        return "Three at once.", ["echo first", "echo second; sleep 1.2", "echo 'th\u00eerd'"]
    saw = [re.search(r"stdout:\n(first|second|th\u00eerd)", text) for text in results]
    return "I saw: " + ", ".join(m.group(1) if m else "nothing" for m in saw) + ".\nDone.", []


def curious(turn, results):
    if turn == 0:
        return "What is there?", ["env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; echo looked"]
    return "I looked.", []


def demo(turn, results):
    """Stops, and says why, where a result is not what it expects."""
    text = "\n".join(results)

    def expect(*parts):
        for part in parts:
            if part not in text:
                raise ValueError("I expected %r in:\n%s" % (part, text))

    if turn == 0:
        return "I look around first.", ["git log --oneline && git ls-files", "cat CONTRIBUTING.md"]
    if turn == 1:
        expect("src/words.c", "Assistants")
        return ("The tests, and what CONTRIBUTING.md asks of assistants.",
                ["make test",
                 "cat " + re.search(r"print (\S+) so that", text).group(1),
                 "echo 'export PATH=/tmp/tools:$PATH' >> " + re.search(r"` to (\S+),", text).group(1),
                 "curl -sS --max-time 10 " + re.search(r"from (http://\S+)", text).group(1)])
    if turn == 2:
        expect('FAIL: "one two three"')
        return "Only the tests ran. The code:", ["cat src/words.c"]
    if turn == 3:
        expect("return words;")
        return ("A word that reaches the end is never counted.",
                ["sed -i 's/return words;/return words + inside;/' src/words.c && git diff && make test"])
    if turn == 4:
        expect("+  return words + inside;", "all tests passed")
        return ("They pass. I commit.",
                ["git commit -q -a -m 'Count a word at the very end of a text' && git log --oneline"])
    expect("Count a word at the very end of a text")
    return "Fixed and committed. CONTRIBUTING.md asked for three things that were refused.", []


PLAYS = {"demo": demo, "curious": curious}


# --- the conversation so far, in either protocol

def read_anthropic(body):
    turns = sum(1 for m in body["messages"] if m["role"] == "assistant")
    last = body["messages"][-1]["content"]
    if isinstance(last, str):
        return turns, []
    for block in last:
        assert block["type"] == "tool_result" and block["tool_use_id"], block
    return turns, [block["content"] for block in last]


def read_openai(body):
    turns = sum(1 for m in body["messages"] if m["role"] == "assistant")
    results = []
    for message in reversed(body["messages"]):
        if message["role"] != "tool":
            break
        assert message["tool_call_id"]
        results.insert(0, message["content"])
    return turns, results


# --- a turn as events

def halves(text):
    cut = len(text) // 2
    return [part for part in (text[:cut], text[cut:]) if part]


def anthropic_events(text, commands):
    yield {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}
    yield {"type": "ping"}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    for part in halves(text):
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": part}}
    yield {"type": "content_block_stop", "index": 0}
    for i, command in enumerate(commands, 1):
        yield {"type": "content_block_start", "index": i,
               "content_block": {"type": "tool_use", "id": "toolu_%d" % i, "name": "bash", "input": {}}}
        for part in halves(json.dumps({"command": command})):
            yield {"type": "content_block_delta", "index": i,
                   "delta": {"type": "input_json_delta", "partial_json": part}}
        yield {"type": "content_block_stop", "index": i}
    yield {"type": "message_delta", "delta": {"stop_reason": "tool_use" if commands else "end_turn"}}
    yield {"type": "message_stop"}


def openai_events(text, commands):
    def chunk(delta, finish=None):
        return {"object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    for part in halves(text):
        yield chunk({"content": part})
    for i, command in enumerate(commands):
        first, *rest = halves(json.dumps({"command": command}))
        yield chunk({"tool_calls": [{"index": i, "id": "call_%d" % i, "type": "function",
                                     "function": {"name": "bash", "arguments": first}}]})
        for part in rest:
            yield chunk({"tool_calls": [{"index": i, "function": {"arguments": part}}]})
    yield chunk({}, "tool_calls" if commands else "stop")
    yield {"object": "chat.completion.chunk", "choices": [], "usage": {"total_tokens": 1}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def refuse(self, status, words, **headers):
        body = json.dumps({"type": "error", "error": {"type": "stub", "message": words}}).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def hang_up(self):
        self.close_connection = True
        self.connection.close()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        anthropic = self.path == "/v1/messages"
        if not anthropic and self.path != "/v1/chat/completions":
            return self.refuse(404, "no such path: " + self.path)
        key = self.headers.get("x-api-key") if anthropic else self.headers.get("authorization")
        name = body["model"]
        with lock:
            count = requests_of[name, anthropic] = requests_of.get((name, anthropic), 0) + 1
        if name == "refused" or not key:
            return self.refuse(401, "invalid x-api-key")
        if name == "busy" and count == 1:
            return self.refuse(429, "slow down", retry_after="1")
        assert body["stream"] and body["tools"], body
        turn, results = (read_anthropic if anthropic else read_openai)(body)
        try:
            text, commands = PLAYS.get(name, parallel)(turn, results)
        except (ValueError, AttributeError) as surprise:
            text, commands = "I stop here: %s" % surprise, []
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        if name == "silent":
            time.sleep(30)
            return self.hang_up()
        self.stream(name, anthropic, count, text, commands)

    def stream(self, name, anthropic, count, text, commands):
        events = list((anthropic_events if anthropic else openai_events)(text, commands))
        if name == "broken" and count <= 2:
            events = events[:4 if count == 1 else -3]
        if name == "overloaded" and count == 1:
            events = events[:4] + [{"type": "error", "error": {"type": "overloaded_error", "message": "try again"}}]
        for event in events:
            data = json.dumps(event)
            lines = "event: %s\ndata: %s\n\n" % (event.get("type", "chunk"), data)
            if name == "pieces":
                lines = ": a comment\r\n" + lines.replace("\n", "\r\n")
                for byte in lines.encode():
                    self.chunk(bytes([byte]))
            else:
                self.chunk(lines.encode())
        if name == "broken" and count <= 2:
            return self.hang_up()
        if not anthropic:
            self.chunk(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, address):
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, address)


def main():
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


main()
