# Calls the echo service with grpcio, and prints what came back as JSON: python3 client.py ADDRESS
import json
import queue
import sys

import grpc

SERVICE = "/test.v1.EchoService/"


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def request(text, count=0):
    data = text.encode()
    return b"\x0a" + varint(len(data)) + data + (b"\x10" + varint(count) if count else b"")


def read_varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return number, at


def response(data):
    text, index, at = "", 0, 0
    while at < len(data):
        tag, at = read_varint(data, at)
        number, at = read_varint(data, at)
        if tag == 0x0A:
            text = data[at : at + number].decode()
            at += number
        else:
            index = number
    return text, index


def failure(call):
    try:
        call()
        return "the call succeeded"
    except grpc.RpcError as error:
        trailers = dict(error.trailing_metadata() or ())
        details = trailers.get("grpc-status-details-bin", b"")
        return [error.code().name, error.details(), trailers.get("x-why"), b"detail" in details]


def main():
    channel = grpc.insecure_channel(sys.argv[1])
    say = channel.unary_unary(SERVICE + "Say")
    repeat = channel.unary_stream(SERVICE + "Repeat")
    gather = channel.stream_unary(SERVICE + "Gather")
    converse = channel.stream_stream(SERVICE + "Converse")
    out = {}

    metadata = (("x-sent", "yes"), ("x-data-bin", b"\x00\xff\x80"))
    value, call = say.with_call(request("hello"), metadata=metadata)
    trailers = dict(call.trailing_metadata())
    out["unary"] = response(value)[0]
    out["metadata"] = [dict(call.initial_metadata())["x-head"], trailers["x-tail"], trailers["x-data-bin"].hex()]
    value, call = say.with_call(request("x" * 5000), compression=grpc.Compression.Gzip)
    out["gzip"] = [len(response(value)[0]), dict(call.trailing_metadata())["x-sent-in"]]
    out["stream"] = [response(value)[1] for value in repeat(request("x", 300))]
    out["gathered"] = response(gather(iter([request("a"), request("b"), request("c")])))[0]

    sent = queue.Queue()
    talk = converse(iter(sent.get, None))
    out["conversation"] = []
    for text in ["a", "b", "c"]:
        sent.put(request(text))
        out["conversation"].append(response(next(talk))[0])
    sent.put(None)
    out["conversation"] += list(talk)

    out["failure"] = failure(lambda: say(request("fail")))
    out["unknown"] = failure(lambda: say(request("break")))
    seen = []
    out["cut"] = failure(lambda: seen.extend(response(value)[1] for value in repeat(request("fail", 2)))) + [seen]
    out["deadline"] = failure(lambda: say(request("wait"), timeout=0.3))[0]
    out["missing"] = failure(lambda: channel.unary_unary(SERVICE + "Missing")(b""))[0]
    print(json.dumps(out))


main()
