// The clients of `websocket.mjs`: they send frames that were made beforehand again and again, and count those that come back.
import { once } from 'node:events'
import { connect } from 'node:net'
import { pathToFileURL } from 'node:url'
import { deflateRawSync } from 'node:zlib'

const HANDSHAKE =
  'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
/** As Chromium and ws offer it. */
const OFFER = 'Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n'
const MASK = [1, 2, 3, 4]
const [FIN, RSV1, TEXT, BINARY, MASKED] = [0x80, 0x40, 1, 2, 0x80]

function payloadOf({ bytes, isDeflated }) {
  if (!isDeflated) return Buffer.alloc(bytes, 97)
  const rows = Array.from({ length: 100 }, (_, i) => ({
    id: 1000 + i * 7,
    name: `item ${i * i}`,
    price: (i * 37) % 101,
    inStock: i % 3 === 0,
  }))
  let count = rows.length
  while (JSON.stringify(rows.slice(0, count)).length > bytes) count--
  return Buffer.from(JSON.stringify(rows.slice(0, count + 1)))
}

function frameOf(first, payload, mask) {
  const { length } = payload
  const extended =
    length < 126 ? [] : length < 65_536 ? [length >> 8, length & 0xff] : [0, 0, 0, 0, ...[24, 16, 8, 0].map((by) => (length >>> by) & 0xff)]
  const short = length < 126 ? length : length < 65_536 ? 126 : 127
  if (mask === undefined) return Buffer.concat([Buffer.from([first, short, ...extended]), payload])
  return Buffer.concat([Buffer.from([first, MASKED | short, ...extended, ...mask]), payload.map((byte, i) => byte ^ mask[i & 3])])
}

function sent(kind) {
  const payload = payloadOf(kind)
  const first = FIN | (kind.isText ? TEXT : BINARY)
  // Without references to earlier messages, so that the same bytes may come again and again. The last four bytes are left out (RFC 7692 §7.2.1).
  const frame = kind.isDeflated
    ? frameOf(first | RSV1, deflateRawSync(payload, { finishFlush: 2 }).subarray(0, -4), MASK)
    : frameOf(first, payload, MASK)
  return Buffer.concat(Array(kind.flight).fill(frame))
}

/** What the server gets at a time. */
export const bytesOf = (kind) => sent(kind).length
/** What is right to send back for it, except for compressed messages, of which each server makes its own. */
export function answerOf(kind) {
  return Buffer.concat(Array(kind.flight).fill(frameOf(FIN | (kind.isText ? TEXT : BINARY), payloadOf(kind))))
}

class Client {
  #head = Buffer.alloc(10)
  #headBytes = 0
  #left = 0
  messages = 0
  onMessages = () => {}

  static async open(port, isDeflated) {
    const client = new Client()
    client.socket = connect({ port, host: '127.0.0.1', noDelay: true })
    client.socket.write(`${HANDSHAKE}${isDeflated ? OFFER : ''}\r\n`)
    const [answer] = await once(client.socket, 'data')
    const text = answer.toString('latin1')
    if (!text.startsWith('HTTP/1.1 101 ')) throw new Error(`no WebSocket: ${text}`)
    if (isDeflated !== /permessage-deflate/i.test(text)) throw new Error(`compression is not as asked: ${text}`)
    client.socket.on('data', (chunk) => client.#count(chunk))
    return client
  }

  #count(chunk) {
    let at = 0
    while (at < chunk.length) {
      if (this.#left > 0) {
        const taken = Math.min(this.#left, chunk.length - at)
        this.#left -= taken
        at += taken
        if (this.#left === 0) this.messages++
        continue
      }
      this.#head[this.#headBytes++] = chunk[at++]
      const short = this.#head[1]
      if (this.#headBytes < (this.#headBytes < 2 ? 2 : short < 126 ? 2 : short === 126 ? 4 : 10)) continue
      this.#left = short < 126 ? short : short === 126 ? this.#head.readUInt16BE(2) : this.#head.readUInt32BE(6)
      this.#headBytes = 0
    }
    this.onMessages()
  }
}

/** Each client sends, and sends again when all has come back. @returns how many messages came back */
async function echo(clients, { flight }, frames, end) {
  const counts = clients.map(
    (client) =>
      new Promise((resolve) => {
        const before = client.messages
        let wanted = before + flight
        client.onMessages = () => {
          if (client.messages < wanted) return
          if (client.messages > wanted) throw new Error('more messages came back than were sent')
          if (performance.now() >= end) return resolve(client.messages - before)
          wanted += flight
          client.socket.write(frames)
        }
        client.socket.write(frames)
      }),
  )
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
}

/** One client sends, and another does when all have got the message. @returns how many messages were sent */
async function talkInRoom(clients, _, frames, end) {
  let messages = 0
  do {
    await new Promise((resolve) => {
      let missing = clients.length
      for (const client of clients) {
        client.onMessages = () => {
          client.onMessages = () => {}
          if (--missing === 0) resolve()
        }
      }
      clients[messages++ % clients.length].socket.write(frames)
    })
  } while (performance.now() < end)
  return messages
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  let clients = []
  let open = 0
  process.on('message', async ({ port, connections, ms, kind }) => {
    if (open !== port || clients.length > connections) for (const { socket } of clients.splice(0)) socket.destroy()
    open = port
    while (clients.length < connections) {
      const more = Math.min(200, connections - clients.length)
      clients = clients.concat(await Promise.all(Array.from({ length: more }, () => Client.open(port, kind.isDeflated))))
    }
    const began = performance.now()
    const talk = kind.isRoom ? talkInRoom : echo
    const messages = connections === 0 ? 0 : await talk(clients, kind, sent(kind), began + ms)
    process.send({ messages, seconds: (performance.now() - began) / 1000 })
  })
  process.on('disconnect', () => process.exit())
}
