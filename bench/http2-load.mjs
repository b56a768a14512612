// The load generator of http2.mjs: a process that repeats requests over HTTP/2, in frames that are made beforehand, and reads no more of a
// response than its status and its length. The fields of a request are in the dynamic table of HPACK after its first time, as with browsers.
//
// It answers one question at a time:
//   { ask: 'load', target, ms }            sends the requests of `target` in a closed loop; { requests, seconds }
//   { ask: 'stand', target, count, slow }  opens that many connections, each with one request, which stay, and closes all others. `slow`: the window
//                                          in bytes of clients that read nothing of the responses
//   { ask: 'transfer', target }            one request of a large body, or with one, on a connection of its own; { seconds }
//   { ask: 'close', target }
import { once } from 'node:events'
import { connect as connectNet } from 'node:net'
import { connect as connectTls } from 'node:tls'

const DATA = 0
const HEADERS = 1
const RST_STREAM = 3
const SETTINGS = 4
const PING = 6
const GOAWAY = 7
const WINDOW_UPDATE = 8
const END_STREAM = 1
const END_HEADERS = 4
const ACK = 1
const HEAD_BYTES = 9
const FRAME_BYTES = 16384
/** From here on, frames of a body are written as they were made once: to join them each time would cost more than the server's part. */
const MANY_FRAMES = 8
const DEFAULT_WINDOW = 65535
const INITIAL_WINDOW_SIZE = 4
/** As Chromium: what a response, and all responses together, may send without a WINDOW_UPDATE. */
const STREAM_WINDOW = 6 * 2 ** 20
const CONNECTION_WINDOW = 15 * 2 ** 20
const STATUS_200 = 0x88
const LAST_STATIC = 61
const AUTHORITY = 'bench.localhost'
const USER_AGENT = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'

const NO_BYTES = Buffer.alloc(0)

/** A body of any length, without the memory for it. `frames` makes whole DATA frames of it, which are the same each time. */
function bodyOf(length) {
  const chunk = Buffer.alloc(Math.min(length, FRAME_BYTES), 'echo ')
  let all = NO_BYTES
  let stream = 0
  return {
    length,
    subarray: (from, to) => chunk.subarray(0, to - from),
    frames(count, id) {
      if (all.length < count * (HEAD_BYTES + FRAME_BYTES) || stream !== id)
        all = Buffer.concat(Array.from({ length: count }, () => frame(DATA, 0, id, chunk)))
      stream = id
      return all.subarray(0, count * (HEAD_BYTES + FRAME_BYTES))
    },
  }
}

function frame(type, flags, stream, payload = NO_BYTES) {
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

const uint32 = (value) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** A string literal of HPACK, not in the Huffman code. */
function literal(text) {
  const bytes = Buffer.from(text, 'latin1')
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes])
  return Buffer.concat([Buffer.from([127, bytes.length - 127]), bytes])
}

/** The blocks of requests: `first` puts their fields in the dynamic table, and `blocks` are indexes from then on. */
function blocksOf(exchanges, isSecure) {
  const entries = []
  const write = ([name, value]) => {
    if (name === ':method') return Buffer.from([value === 'GET' ? 0x82 : 0x83])
    if (name === ':scheme') return Buffer.from([value === 'https' ? 0x87 : 0x86])
    const entry = `${name}: ${value}`
    const at = entries.indexOf(entry)
    if (at >= 0) return Buffer.from([0x80 | (LAST_STATIC + entries.length - at)])
    entries.push(entry)
    return Buffer.concat([Buffer.from([0x40]), literal(name), literal(value)])
  }
  const fieldsOf = ({ method, path, sends, fields }) => [
    [':method', method],
    [':scheme', isSecure ? 'https' : 'http'],
    [':authority', AUTHORITY],
    [':path', path],
    ['user-agent', USER_AGENT],
    ['accept', '*/*'],
    ...Object.entries(fields ?? {}),
    ...(sends === undefined
      ? []
      : [
          ['content-type', 'application/octet-stream'],
          ['content-length', String(sends.length)],
        ]),
  ]
  const all = () => exchanges.map((exchange) => Buffer.concat(fieldsOf(exchange).map(write)))
  return { first: all(), blocks: all() }
}

class Connection {
  error = null
  isEstablished = false
  #socket
  #exchanges
  #heads
  #firstHeads
  /** Requests in progress: how many bytes of the response are missing, and what is left to be sent. */
  #streams = new Map()
  #nextId = 1
  #sent = 0
  #rest = NO_BYTES
  /** Of the DATA frame whose head has been read. */
  #dataLeft = 0
  #dataStream = 0
  #dataEnds = false
  #window = DEFAULT_WINDOW
  #streamWindow = DEFAULT_WINDOW
  /** Requests whose bodies wait for a window. */
  #blocked = []
  #received = 0
  #parts = []
  #until = 0
  #done = 0
  #finish = null

  static async open({ port, isSecure, exchanges }, slow = 0) {
    const connection = new Connection()
    for (const exchange of exchanges) if (exchange.sendsBytes > 0) exchange.sends = bodyOf(exchange.sendsBytes)
    const options = { port, host: '127.0.0.1', noDelay: true }
    const socket = isSecure ? connectTls({ ...options, ALPNProtocols: ['h2'], rejectUnauthorized: false }) : connectNet(options)
    connection.#socket = socket
    await once(socket, isSecure ? 'secureConnect' : 'connect')
    if (isSecure && socket.alpnProtocol !== 'h2') throw new Error('no h2')
    const { first, blocks } = blocksOf(exchanges, isSecure)
    const headsOf = (all) =>
      all.map((block, i) => frame(HEADERS, END_HEADERS | (exchanges[i].sends === undefined ? END_STREAM : 0), 0, block))
    connection.#exchanges = exchanges
    connection.#firstHeads = headsOf(first)
    connection.#heads = headsOf(blocks)
    const window = slow > 0 ? slow : STREAM_WINDOW
    const setting = Buffer.concat([Buffer.from([0, 2, 0, 0, 0, 0, 0, INITIAL_WINDOW_SIZE]), uint32(window)])
    socket.write(
      Buffer.concat([
        Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
        frame(SETTINGS, 0, 0, setting),
        frame(WINDOW_UPDATE, 0, 0, uint32((slow > 0 ? slow : CONNECTION_WINDOW) - DEFAULT_WINDOW)),
      ]),
    )
    socket.on('data', (chunk) => connection.#read(chunk))
    socket.on('error', (error) => connection.#fail(error))
    socket.on('close', () => connection.#fail(new Error('the server closed the connection')))
    return connection
  }

  close() {
    this.#finish = null
    this.#socket.destroy()
  }

  /** Sends one request, and reads nothing after its head. */
  async stall() {
    this.#start()
    this.#flush()
    await new Promise((resolve) => setTimeout(resolve, 1))
    this.#socket.pause()
  }

  /** Keeps `streams` requests in progress until `until`. @returns how many were complete */
  run(streams, until) {
    this.#until = until
    this.#done = 0
    return new Promise((resolve, reject) => {
      this.#finish = { resolve, reject }
      if (this.error !== null) return this.#fail(this.error)
      for (let i = 0; i < streams; i++) this.#start()
      this.#flush()
    })
  }

  #fail(error) {
    this.error ??= error
    this.#finish?.reject(error)
    this.#finish = null
  }

  #start() {
    const at = this.#sent++ % this.#exchanges.length
    const exchange = this.#exchanges[at]
    const head = Buffer.from((this.#sent > this.#exchanges.length ? this.#heads : this.#firstHeads)[at])
    const id = this.#nextId
    this.#nextId += 2
    head.writeUInt32BE(id, 5)
    this.#parts.push(head)
    const stream = { id, bytesLeft: exchange.wireBytes, received: 0, sends: exchange.sends, at: 0, window: this.#streamWindow }
    this.#streams.set(id, stream)
    if (exchange.sends !== undefined && !this.#send(stream)) this.#blocked.push(stream)
  }

  /** As much of a body as the windows allow. @returns whether that was all */
  #send(stream) {
    const { sends, id } = stream
    const whole = Math.floor(Math.min(sends.length - stream.at - 1, stream.window, this.#window) / FRAME_BYTES)
    if (whole >= MANY_FRAMES) {
      this.#flush()
      this.#socket.write(sends.frames(whole, id))
      this.#advance(stream, whole * FRAME_BYTES)
    }
    while (stream.at < sends.length) {
      const length = Math.min(FRAME_BYTES, sends.length - stream.at, stream.window, this.#window)
      if (length <= 0) return false
      const end = stream.at + length
      const head = Buffer.allocUnsafe(HEAD_BYTES)
      head.writeUIntBE(length, 0, 3)
      head[3] = DATA
      head[4] = end === sends.length ? END_STREAM : 0
      head.writeUInt32BE(id, 5)
      this.#parts.push(head, sends.subarray(stream.at, end))
      this.#advance(stream, length)
    }
    return true
  }

  #advance(stream, length) {
    stream.at += length
    stream.window -= length
    this.#window -= length
  }

  #flush() {
    const parts = this.#parts
    if (parts.length === 0) return
    this.#parts = []
    this.#socket.write(parts.length === 1 ? parts[0] : Buffer.concat(parts))
  }

  #read(chunk) {
    try {
      this.#readFrames(chunk)
    } catch (error) {
      this.#fail(error)
    }
    if (this.#blocked.length > 0) this.#blocked = this.#blocked.filter((stream) => !this.#send(stream))
    this.#flush()
    if (this.#streams.size > 0 || this.#finish === null) return
    this.#finish.resolve(this.#done)
    this.#finish = null
  }

  #readFrames(chunk) {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const isGoingOn = performance.now() < this.#until
    let at = 0
    for (;;) {
      if (this.#dataLeft > 0) {
        const length = Math.min(this.#dataLeft, bytes.length - at)
        at += length
        this.#dataLeft -= length
        if (this.#dataLeft > 0) break
        if (this.#dataEnds) this.#complete(this.#dataStream, isGoingOn)
      }
      if (bytes.length - at < HEAD_BYTES) break
      const length = (bytes[at] << 16) | (bytes[at + 1] << 8) | bytes[at + 2]
      const type = bytes[at + 3]
      const flags = bytes[at + 4]
      const id = bytes.readUInt32BE(at + 5)
      if (type === DATA) {
        at += HEAD_BYTES
        this.#take(id, length)
        this.#dataLeft = length
        this.#dataStream = id
        this.#dataEnds = (flags & END_STREAM) !== 0
        if (length === 0 && this.#dataEnds) this.#complete(id, isGoingOn)
        continue
      }
      if (bytes.length - at < HEAD_BYTES + length) break
      this.#onFrame(type, flags, id, bytes, at + HEAD_BYTES, length, isGoingOn)
      at += HEAD_BYTES + length
    }
    this.#rest = at === bytes.length ? NO_BYTES : bytes.subarray(at)
  }

  #take(id, length) {
    const stream = this.#streams.get(id)
    if (stream === undefined) throw new Error(`DATA on stream ${id}`)
    stream.bytesLeft -= length
    stream.received += length
    if (stream.received >= STREAM_WINDOW / 2 && stream.bytesLeft > 0) {
      this.#parts.push(frame(WINDOW_UPDATE, 0, id, uint32(stream.received)))
      stream.received = 0
    }
    this.#received += length
    if (this.#received < CONNECTION_WINDOW / 2) return
    this.#parts.push(frame(WINDOW_UPDATE, 0, 0, uint32(this.#received)))
    this.#received = 0
  }

  #complete(id, isGoingOn) {
    const { bytesLeft } = this.#streams.get(id)
    if (bytesLeft !== 0) throw new Error(`a response has the wrong length, by ${bytesLeft}`)
    this.#streams.delete(id)
    this.#done++
    if (isGoingOn) this.#start()
  }

  #onFrame(type, flags, id, bytes, at, length, isGoingOn) {
    switch (type) {
      case HEADERS: {
        // The first block of a connection may begin with the size of the table.
        const status = bytes[at] >> 5 === 1 ? bytes[at + 1] : bytes[at]
        if (status !== STATUS_200) throw new Error('a response whose status is not 200')
        if (flags & END_STREAM) this.#complete(id, isGoingOn)
        break
      }
      case SETTINGS:
        if ((flags & ACK) === 0) this.#onSettings(bytes, at, length)
        break
      case PING:
        if ((flags & ACK) === 0) this.#parts.push(frame(PING, ACK, 0, Buffer.from(bytes.subarray(at, at + length))))
        break
      case WINDOW_UPDATE:
        if (id === 0) this.#window += bytes.readUInt32BE(at)
        else if (this.#streams.has(id)) this.#streams.get(id).window += bytes.readUInt32BE(at)
        break
      case RST_STREAM:
        // After the end of a response it says that the rest of the request is not needed.
        if (this.#streams.has(id)) throw new Error(`a stream was reset: ${bytes.readUInt32BE(at)}`)
        break
      case GOAWAY:
        throw new Error(`GOAWAY ${bytes.readUInt32BE(at + 4)}`)
    }
  }

  #onSettings(bytes, at, length) {
    for (let i = at; i < at + length; i += 6) {
      if (bytes.readUInt16BE(i) !== INITIAL_WINDOW_SIZE) continue
      const window = bytes.readUInt32BE(i + 2)
      for (const stream of this.#streams.values()) stream.window += window - this.#streamWindow
      this.#streamWindow = window
    }
    this.#parts.push(frame(SETTINGS, ACK, 0))
    this.isEstablished = true
  }
}

/** By target, so that turns of several servers find theirs open. */
const groups = new Map()
let standing = []

async function openAll(target, count, slow) {
  const all = []
  while (all.length < count) {
    const more = Math.min(100, count - all.length)
    all.push(...(await Promise.all(Array.from({ length: more }, () => Connection.open(target, slow)))))
  }
  return all
}

async function load({ target, ms }) {
  const { id, connections, streams } = target
  let group = groups.get(id)
  if (group === undefined) {
    group = await openAll(target, connections)
    groups.set(id, group)
  }
  const began = performance.now()
  const counts = await Promise.all(group.map((connection) => connection.run(streams, began + ms)))
  return { requests: counts.reduce((sum, count) => sum + count, 0), seconds: (performance.now() - began) / 1000 }
}

async function stand({ target, count, slow = 0 }) {
  for (const connection of standing) connection.close()
  standing = target.isHttp1 ? await openHttp1(target, count) : await openAll(target, count, slow)
  if (target.isHttp1) return {}
  for (const connection of standing) await (slow > 0 ? connection.stall() : connection.run(1, 0))
  return {}
}

const REQUEST_END = `Host: ${AUTHORITY}\r\nUser-Agent: ${USER_AGENT}\r\nAccept: */*\r\n`

async function connectHttp1(port) {
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  return socket
}

/** The same over HTTP/1.1. */
async function openHttp1({ port, exchanges: [{ path }] }, count) {
  const all = []
  while (all.length < count) {
    const socket = await connectHttp1(port)
    socket.write(`GET ${path} HTTP/1.1\r\n${REQUEST_END}\r\n`)
    await once(socket, 'data')
    all.push({ close: () => socket.destroy() })
  }
  return all
}

async function transfer({ target }) {
  const began = performance.now()
  if (target.isHttp1) await transferHttp1(target)
  else {
    const connection = await Connection.open(target)
    await connection.run(1, 0)
    connection.close()
  }
  return { seconds: (performance.now() - began) / 1000 }
}

async function transferHttp1({ port, exchanges: [{ method, path, sendsBytes, wireBytes }] }) {
  const socket = await connectHttp1(port)
  let received = 0
  socket.on('data', (chunk) => (received += chunk.length))
  const closed = once(socket, 'close')
  const length = sendsBytes > 0 ? `Content-Length: ${sendsBytes}\r\n` : ''
  socket.write(`${method} ${path} HTTP/1.1\r\n${REQUEST_END}${length}Connection: close\r\n\r\n`)
  const piece = Buffer.alloc(4 * FRAME_BYTES, 'echo ')
  for (let sent = 0; sent < sendsBytes; sent += piece.length) if (!socket.write(piece)) await once(socket, 'drain')
  await closed
  if (received < wireBytes) throw new Error(`a response is too short, by ${wireBytes - received}`)
}

function close({ target: { id } }) {
  for (const connection of groups.get(id) ?? []) connection.close()
  groups.delete(id)
  return {}
}

const QUESTIONS = { load, stand, transfer, close }
process.on('message', async (question) => {
  process.send(await (async () => QUESTIONS[question.ask](question))().catch((error) => ({ failed: error.message })))
})
process.on('disconnect', () => process.exit())
