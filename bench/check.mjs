// Before a server is timed, every request of the workload is sent to it, and every answer must be the right one: status, media type,
// Content-Length, Date, a connection that stays open, the body byte for byte. A quick wrong answer would otherwise win.
import { connect } from 'node:net'

const PATIENCE_MS = 20_000

/** Rejects with what is wrong and with which request. With `depth`, the requests go out in batches of that many. */
export async function checkAnswers(port, { exchanges, depth }, { answersOneBody = false } = {}) {
  const expected = answersOneBody ? exchanges.slice(0, depth) : repeatedToFill(exchanges, depth)
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  socket.setTimeout(PATIENCE_MS, () => socket.destroy(new Error('no answer')))
  let received = Buffer.alloc(0)
  let answered = 0
  const sendBatch = () => socket.write(Buffer.concat(expected.slice(answered, answered + depth).map(({ request }) => request)))

  await new Promise((resolve, reject) => {
    socket.on('error', reject)
    socket.on('close', () => reject(new Error(`closed after ${answered} of ${expected.length} answers`)))
    socket.on('connect', sendBatch)
    socket.on('data', (chunk) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      try {
        for (let answer = takeAnswer(received); answer !== null; answer = takeAnswer(received)) {
          if (answered === expected.length) throw new Error('more answers than requests')
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

/** A batch that is not full would never be answered in the rhythm of the workload. */
function repeatedToFill(exchanges, depth) {
  const batches = Math.ceil(exchanges.length / depth)
  return Array.from({ length: batches * depth }, (_, i) => exchanges[i % exchanges.length])
}

/** The first whole answer in the bytes, or null if there is none yet. */
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
  const size = fields.get('content-length')
  if (size === undefined || !/^\d+$/.test(size)) throw new Error(`no usable Content-Length: ${bytes.latin1Slice(0, headEnd)}`)
  const length = headEnd + 4 + Number(size)
  if (bytes.length < length) return null
  return { length, statusLine, fields, body: bytes.subarray(headEnd + 4, length) }
}

function compare({ statusLine, fields, body }, expected) {
  const status = /^HTTP\/1\.1 (\d{3})(?: |$)/.exec(statusLine)?.[1]
  const mediaType = fields.get('content-type')?.split(';')[0].trim().toLowerCase()
  if (status !== String(expected.status)) throw new Error(`${statusLine} instead of ${expected.status}: ${excerpt(body)}`)
  if (mediaType !== expected.mediaType) throw new Error(`Content-Type ${mediaType} instead of ${expected.mediaType}`)
  if (Number.isNaN(Date.parse(fields.get('date') ?? ''))) throw new Error('no Date')
  if (fields.get('connection')?.toLowerCase() === 'close') throw new Error('it closes the connection')
  const right = Buffer.from(expected.body)
  if (!right.equals(body)) throw new Error(`${excerpt(body)}\n  instead of ${excerpt(right)}`)
}

const excerpt = (body) => `${body.length} B: ${body.utf8Slice(0, Math.min(body.length, 500))}`
