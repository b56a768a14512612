# Talks to the server of other-clients.test.ts with the package wsproto, and prints what came back as JSON:
# python3 websocket-wsproto.py ws://127.0.0.1:PORT
import json
import socket
import sys
from urllib.parse import urlsplit

from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Ping,
    Pong,
    RejectConnection,
    Request,
    TextMessage,
)
from wsproto.extensions import PerMessageDeflate

ADDRESS = urlsplit(sys.argv[1])
DISTANT = ["".join(chr(33 + (i * i * (7 + n % 5) + i * 7919) % 90) for i in range(3000)) for n in range(10)]


class Client:
    def __init__(self, path, **options):
        self.socket = socket.create_connection((ADDRESS.hostname, ADDRESS.port))
        self.protocol = WSConnection(ConnectionType.CLIENT)
        self.send(Request(host=ADDRESS.netloc, target=path, **options))
        self.first = self.next()

    def send(self, event):
        self.socket.sendall(self.protocol.send(event))

    # The next event; the parts of a message are joined.
    def next(self):
        message = None
        while True:
            for event in self.waiting():
                if not isinstance(event, (TextMessage, BytesMessage)):
                    return event
                message = event.data if message is None else message + event.data
                if event.message_finished:
                    return message
            bytes = self.socket.recv(65536)
            self.protocol.receive_data(bytes or None)

    # Events that have not been taken stay for the next call.
    def waiting(self):
        if not hasattr(self, "events"):
            self.events = self.protocol.events()
        for event in self.events:
            yield event
        del self.events


def echo(seen):
    client = Client("/echo", subprotocols=["v2", "v1"], extensions=[PerMessageDeflate()])
    assert isinstance(client.first, AcceptConnection)
    seen["subprotocol"] = client.first.subprotocol
    seen["declined"] = [extension.name for extension in client.first.extensions]
    client.send(TextMessage(data="grüße"))
    client.send(BytesMessage(data=b"\x00\xff\x80"))
    client.send(TextMessage(data="x" * 300_000))
    for part, finished in [("in ", False), ("three ", False), ("fragments", True)]:
        client.send(TextMessage(data=part, message_finished=finished))
    first, second, third, fourth = [client.next() for _ in range(4)]
    seen["echo"] = [first, bytes(second).hex(), len(third), fourth]
    client.send(Ping(payload=b"are you there"))
    pong = client.next()
    assert isinstance(pong, Pong) and pong.payload == b"are you there"
    client.send(CloseConnection(code=4000, reason="bye"))
    end = client.next()
    assert isinstance(end, CloseConnection)
    seen["closed"] = [end.code, end.reason]


def packed(seen):
    client = Client("/packed", extensions=[PerMessageDeflate()])
    seen["extensions"] = [extension.name for extension in client.first.extensions]
    for text in DISTANT:
        client.send(TextMessage(data=text))
    seen["packed"] = [text == client.next() for text in DISTANT].count(True)


def ends(seen):
    client = Client("/ends")
    client.send(TextMessage(data="anything"))
    end = client.next()
    assert isinstance(end, CloseConnection)
    seen["ended"] = [end.code, end.reason]
    refused = Client("/refused").first
    assert isinstance(refused, RejectConnection)
    seen["refused"] = refused.status_code


seen = {}
echo(seen)
packed(seen)
ends(seen)
print(json.dumps(seen))
