#!/usr/bin/env python3
"""A client of `cordon mcp` with nothing but Python: each protocol revision, and what a careless client sends.

    scripted.py CORDON
"""

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

PROGRAM = sys.argv[1]


class Session:
    def __init__(self, workspace, revision, capabilities=None, options=()):
        self.process = subprocess.Popen(
            [PROGRAM, "mcp", "-w", workspace, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lines = queue.Queue()
        self.seen = []
        self.last_id = 0
        self.answer_question = None
        threading.Thread(target=self._read, daemon=True).start()
        self.about = self.call("initialize", protocolVersion=revision, capabilities=capabilities or {},
                               clientInfo={"name": "scripted", "version": "1"})["result"]
        self.send(method="notifications/initialized")

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def raw(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def send(self, **message):
        self.raw(json.dumps({"jsonrpc": "2.0", **message}) + "\n")

    def ask(self, method, **params):
        self.last_id += 1
        self.send(id=self.last_id, method=method, params=params)
        return self.last_id

    def answer(self, wanted, seconds=20):
        end = time.monotonic() + seconds
        while True:
            message = self.lines.get(timeout=max(0.01, end - time.monotonic()))
            assert message is not None, "the server ended"
            assert message["jsonrpc"] == "2.0", message
            if message.get("id") == wanted and "method" not in message:
                return message
            if "id" in message and "method" in message:
                self.send(id=message["id"], result=self.answer_question(message))
            self.seen.append(message)

    def call(self, method, **params):
        return self.answer(self.ask(method, **params))

    def tool(self, name, **arguments):
        return self.call("tools/call", name=name, arguments=arguments)["result"]

    def hang_up(self):
        self.process.stdin.close()
        assert self.process.wait(10) == 0, "the server does not end well"


def each_revision(workspace):
    for asked, used in (("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"),
                        ("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-06-18")):
        session = Session(workspace, asked)
        assert session.about["protocolVersion"] == used, session.about
        result = session.tool("bash", command="echo %s" % asked)
        assert result["content"][0]["type"] == "text" and asked in result["content"][0]["text"]
        session.hang_up()


def careless_client(workspace):
    session = Session(workspace, "2025-03-26")
    session.raw("\n  \nnot json\n")
    assert session.answer(None)["error"]["code"] == -32700
    assert session.call("resources/list")["error"]["code"] == -32601
    assert session.call("tools/call", name="bash", arguments="text")["result"]["isError"]
    assert session.call("tools/call", arguments={})["error"]["code"] == -32602
    session.send(method="notifications/cancelled", params={"requestId": 999})
    session.send(method="notifications/cancelled")
    session.send(id=77, result={"nobody": "asked"})
    # A batch, which only this revision has.
    session.raw(json.dumps([{"jsonrpc": "2.0", "id": 101, "method": "ping"},
                            {"jsonrpc": "2.0", "id": "b", "method": "ping"}]) + "\n")
    assert session.answer(101)["result"] == {}
    assert session.answer("b")["result"] == {}
    # One message in small pieces, and two in one.
    text = json.dumps({"jsonrpc": "2.0", "id": 102, "method": "ping"}) + "\n"
    for part in (text[:5], text[5:20], text[20:] + text.replace("102", "103")):
        session.raw(part)
        time.sleep(0.01)
    assert session.answer(102)["result"] == {} and session.answer(103)["result"] == {}
    session.hang_up()


def progress_and_cancellation(workspace):
    session = Session(workspace, "2025-06-18")
    answer = session.call("tools/call", name="bash", arguments={"command": "sleep 2.5; echo done"},
                          _meta={"progressToken": 17})
    assert answer["result"]["structuredContent"]["stdout"] == "done\n"
    values = [m["params"]["progress"] for m in session.seen if m["method"] == "notifications/progress"]
    assert values and values == sorted(set(values)), values
    gone = session.ask("tools/call", name="bash", arguments={"command": "sleep 30"})
    session.send(method="notifications/cancelled", params={"requestId": gone, "reason": "test"})
    assert session.tool("bash", command="echo next")["structuredContent"]["stdout"] == "next\n"
    session.hang_up()


def questions(workspace, profile):
    session = Session(workspace, "2025-06-18", {"elicitation": {}}, ["--profile", profile])
    asked = []

    def answer(request):
        assert request["method"] == "elicitation/create"
        schema = request["params"]["requestedSchema"]
        assert schema["type"] == "object" and "deny" in schema["properties"]["decision"]["enum"]
        asked.append(request["params"]["message"])
        if len(asked) == 1:
            return {"action": "accept", "content": {"decision": "session"}}
        return {"action": "accept", "content": {"decision": "deny", "words": "use make instead"}}

    session.answer_question = answer
    for _ in range(2):
        assert session.tool("bash", command="echo same")["structuredContent"]["exit_code"] == 0
    assert len(asked) == 1, "asked again for what was allowed for the session"
    refused = session.tool("bash", command="echo other")
    assert refused["isError"] and "use make instead" in refused["content"][0]["text"]
    session.hang_up()


def end_by_signal(workspace):
    session = Session(workspace, "2025-06-18")
    session.ask("tools/call", name="bash", arguments={"command": "sleep 30"})
    session.process.send_signal(signal.SIGTERM)
    assert session.process.wait(10) == 0


def main():
    ground = os.path.realpath(tempfile.mkdtemp(prefix="cordon-scripted-"))
    try:
        workspace = os.path.join(ground, "ws")
        os.mkdir(workspace)
        profile = os.path.join(ground, "profile.json")
        with open(profile, "w", encoding="utf-8") as file:
            json.dump({"workspace_root": workspace, "workspace_read": "allow", "workspace_write": "allow",
                       "command": "gated"}, file)
        each_revision(workspace)
        careless_client(workspace)
        progress_and_cancellation(workspace)
        questions(workspace, profile)
        end_by_signal(workspace)
    finally:
        shutil.rmtree(ground, ignore_errors=True)
    print("whole sessions of a scripted client")


main()
