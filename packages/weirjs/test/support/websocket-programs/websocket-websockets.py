# Talks to the server of other-clients.test.ts with the package websockets, and prints what came back as JSON:
# python3 websocket-websockets.py ws://127.0.0.1:PORT
import asyncio
import json
import sys

import websockets

URL = sys.argv[1]
# Each text comes again after more bytes than the window that compressed messages may refer to.
DISTANT = ["".join(chr(33 + (i * i * (7 + n % 5) + i * 7919) % 90) for i in range(3000)) for n in range(10)]


async def echo(seen):
    async with websockets.connect(f"{URL}/echo", subprotocols=["v2", "v1"]) as socket:
        seen["subprotocol"] = socket.subprotocol
        seen["declined"] = [extension.name for extension in socket.extensions]
        await socket.send("grüße")
        await socket.send(b"\x00\xff\x80")
        await socket.send("x" * 300_000)
        await socket.send(["in ", "three ", "fragments"])
        first, second, third, fourth = [await socket.recv() for _ in range(4)]
        seen["echo"] = [first, second.hex(), len(third), fourth]
        pong = await socket.ping(b"are you there")
        await asyncio.wait_for(pong, 30)
        await socket.close(4000, "bye")
        seen["closed"] = [socket.close_code, socket.close_reason]


async def packed(seen):
    async with websockets.connect(f"{URL}/packed") as socket:
        seen["extensions"] = [extension.name for extension in socket.extensions]
        for text in DISTANT:
            await socket.send(text)
        seen["packed"] = [text == await socket.recv() for text in DISTANT].count(True)


async def ends(seen):
    async with websockets.connect(f"{URL}/ends") as socket:
        await socket.send("anything")
        try:
            await socket.recv()
        except websockets.ConnectionClosed as end:
            seen["ended"] = [end.rcvd.code, end.rcvd.reason]
    try:
        await websockets.connect(f"{URL}/refused")
    except websockets.exceptions.InvalidStatusCode as refusal:
        seen["refused"] = refusal.status_code


async def main():
    seen = {}
    await echo(seen)
    await packed(seen)
    await ends(seen)
    print(json.dumps(seen))


asyncio.run(main())
