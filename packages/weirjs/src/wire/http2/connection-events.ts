// What `next` of an HTTP/2 connection returns (connection.ts). Above PAUSED there is something to do.

/** More bytes are needed: call `receive`. */
export const NEED_DATA = 0
/** The connection has failed. Nothing more will be read. */
export const CLOSED = 1
/** Bytes may be waiting, but the output is full: call again when it has been taken. */
export const PAUSED = 2
/** `stream` is a new request: see its `head`. If it `isWhole`, the request ends with it, and no END follows. */
export const HEAD = 3
/** `stream` is a new request whose head is refused for `error`. It is owed a response. */
export const BAD_HEAD = 4
/** `buffer[dataStart, dataEnd)` is part of the body of `stream`. */
export const DATA = 5
/** The body on `stream` is complete, and `trailers` of the stream are known. */
export const END = 6
/** `stream` has been reset: by the client with `code`, or for the client's `fault`. Sending on it has no effect any more. */
export const RESET = 7
/** The client has sent GOAWAY with `code`: it ends the connection, and may still wait for responses. */
export const GOAWAY = 8
/** The client has answered a `ping`. */
export const PONG = 9
/** A request above the most streams has been refused. There is nothing to do, but it took time to read. */
export const REFUSED = 10
