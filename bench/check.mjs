// Before a server is timed, every request of the workload is sent to it, and every response must be right: status, media type, framing,
// Date, a connection that stays open, and the decoded body byte for byte. Otherwise a quick wrong response would win.
import { connect } from 'node:net'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

import { endOfChunks } from './answer-counter.mjs'

const PATIENCE_MS = 20_000

/** Rejects with what is wrong and for which request. With `depth`, the requests are sent in batches of that size. */
export async function checkAnswers(port, { exchanges, depth }, { answersOneBody = false } = {}) {
  const expected = answersOneBody ? exchanges.slice(0, depth) : repeatedToFill(exchanges, depth)
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  socket.setTimeout(PATIENCE_MS, () => socket.destroy(new Error('no answer')))
  let received = Buffer.alloc(0)
  let answered = 0
  const sendBatch = () => socket.write(Buffer.concat(expected.slice(answered, answered + depth).map(({ request }) => request)))

  await new Promise((resolve, reject) => {
    socket.on('error', reject)
    socket.on('close', () => reject(new Error(`closed after ${answered} of ${expected.length} responses`)))
    socket.on('connect', sendBatch)
    socket.on('data', (chunk) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      try {
        for (let answer = takeAnswer(received); answer !== null; answer = takeAnswer(received)) {
          if (answered === expected.length) throw new Error('more responses than requests')
          received = received.subarray(answer.length)
          compare(answer, expected[answered])
          answered++
          if (answered === expected.length) resolve()
          else if (answered % depth === 0) sendBatch()
        }
      } catch (error) {
        socket.destroy(new Error(`answer ${answered}: ${error.message}`))
      }
    })
  }).finally(() => socket.destroy())
}

/** The server would wait for an incomplete batch, unlike in the workload. */
function repeatedToFill(exchanges, depth) {
  const batches = Math.ceil(exchanges.length / depth)
  return Array.from({ length: batches * depth }, (_, i) => exchanges[i % exchanges.length])
}

/** Takes the first complete response from the bytes; null if there is none yet. */
function takeAnswer(bytes) {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd === -1) return null
  const [statusLine, ...lines] = bytes.latin1Slice(0, headEnd).split('\r\n')
  const fields = new Map()
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    if (colon < 1) throw new Error(`not a header field: ${line}`)
    if (fields.has(name)) throw new Error(`repeated header field: ${name}`)
    fields.set(name, line.slice(colon + 1).trim())
  }
  if (fields.get('transfer-encoding') === 'chunked') {
    const end = endOfChunks(bytes, headEnd + 4, bytes.length)
    return end === 0 ? null : { length: end, statusLine, fields, body: joinChunks(bytes.subarray(headEnd + 4, end)) }
  }
  const size = fields.get('content-length')
  if (size === undefined || !/^\d+$/.test(size)) throw new Error(`no usable Content-Length: ${bytes.latin1Slice(0, headEnd)}`)
  const length = headEnd + 4 + Number(size)
  if (bytes.length < length) return null
  return { length, statusLine, fields, body: bytes.subarray(headEnd + 4, length) }
}

function joinChunks(bytes) {
  const chunks = []
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    const size = Number.parseInt(bytes.latin1Slice(at, lineEnd), 16)
    if (size === 0) return Buffer.concat(chunks)
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + 2
  }
}

/** Different names of the same type (RFC 9239 §6). */
const OTHER_NAMES = { 'application/javascript': 'text/javascript' }
const DECODERS = { br: brotliDecompressSync, gzip: gunzipSync }

function compare({ statusLine, fields, body }, expected) {
  const status = /^HTTP\/1\.1 (\d{3})(?: |$)/.exec(statusLine)?.[1]
  const named = fields.get('content-type')?.split(';')[0].trim().toLowerCase()
  const mediaType = OTHER_NAMES[named] ?? named
  if (status !== String(expected.status)) throw new Error(`${statusLine} instead of ${expected.status}: ${excerpt(body)}`)
  if (mediaType !== expected.mediaType) throw new Error(`Content-Type ${mediaType} instead of ${expected.mediaType}`)
  if (Number.isNaN(Date.parse(fields.get('date') ?? ''))) throw new Error('no Date')
  if (fields.get('connection')?.toLowerCase() === 'close') throw new Error('it closes the connection')
  const coding = fields.get('content-encoding')
  if (expected.coding !== undefined && coding !== expected.coding)
    throw new Error(`Content-Encoding ${coding} instead of ${expected.coding}`)
  const right = Buffer.from(expected.body)
  const decoded = coding === undefined ? body : DECODERS[coding](body)
  if (!right.equals(decoded)) throw new Error(`${excerpt(decoded)}\n  instead of ${excerpt(right)}`)
}

const excerpt = (body) => `${body.length} B: ${body.utf8Slice(0, Math.min(body.length, 500))}`
