// The client of uploads.mjs. `{ port, bytes, multipart }` sends one file of that size, as a form or as a raw body, and answers `{ seconds,
// busySeconds, body }`. `{ digest: bytes }` answers with the SHA-256 of such a file. The content is random bytes from memory, repeated.
import { createHash, randomFillSync } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'

const BOUNDARY = '----WebKitFormBoundary7MA4YWxkTrZu0gWq'
const CHUNK = 256 * 1024
const chunks = Array.from({ length: 64 }, () => randomFillSync(Buffer.allocUnsafeSlow(CHUNK)))

const FORM_HEAD = Buffer.from(
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="title"\r\n\r\nholidays\r\n` +
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="film.bin"\r\nContent-Type: application/octet-stream\r\n\r\n`,
)
const FORM_END = Buffer.from(`\r\n--${BOUNDARY}--\r\n`)
const NOTHING = Buffer.alloc(0)

function* piecesOf(bytes) {
  for (let sent = 0, i = 0; sent < bytes; sent += CHUNK, i++) yield chunks[i % chunks.length].subarray(0, bytes - sent)
}

async function send({ port, bytes, multipart }) {
  const head = multipart ? FORM_HEAD : NOTHING
  const end = multipart ? FORM_END : NOTHING
  const type = multipart ? `multipart/form-data; boundary=${BOUNDARY}` : 'application/octet-stream'
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let received = ''
  socket.setEncoding('latin1')
  socket.on('data', (text) => (received += text))
  await once(socket, 'connect')
  const closed = once(socket, 'close')
  const cpu = process.cpuUsage()
  const began = performance.now()
  socket.write(
    `POST /upload HTTP/1.1\r\nHost: bench.localhost\r\nConnection: close\r\nContent-Type: ${type}\r\nContent-Length: ${head.length + bytes + end.length}\r\n\r\n`,
  )
  socket.write(head)
  for (const piece of piecesOf(bytes)) if (!socket.write(piece)) await once(socket, 'drain')
  socket.write(end)
  await closed
  const seconds = (performance.now() - began) / 1000
  const { user, system } = process.cpuUsage(cpu)
  const bodyAt = received.indexOf('\r\n\r\n')
  if (!received.startsWith('HTTP/1.1 200 ') || bodyAt === -1) return { failed: received || 'no answer' }
  return { seconds, busySeconds: (user + system) / 1e6, body: unchunked(received, bodyAt + 4) }
}

/** The JSON in a response with any framing. */
function unchunked(received, bodyAt) {
  return received.slice(received.indexOf('{', bodyAt), received.lastIndexOf('}') + 1)
}

function digest(bytes) {
  const hash = createHash('sha256')
  for (const piece of piecesOf(bytes)) hash.update(piece)
  return { digest: hash.digest('hex') }
}

process.on('message', async (question) => {
  process.send(question.digest === undefined ? await send(question).catch((error) => ({ failed: error.message })) : digest(question.digest))
})
process.on('disconnect', () => process.exit())
