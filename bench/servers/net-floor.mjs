// A reference line, not a server: it sends one fixed response for each request, which it counts by its length and never reads. What remains
// is the cost of the socket itself in Node. If requests differ in length, each chunk counts as one request.
import { createServer } from 'node:net'

export const label = 'net-floor'
export const version = () => process.versions.node

/** It sends the same body for every request, so only that body is checked. */
export const answersOneBody = true

/** Workloads in which all responses are alike. */
const APPS = ['basic', 'bodies', 'routes', 'large', 'baseline']
const MAX_CHUNK = 16 * 1024

export async function start(workload) {
  const { request, body, mediaType } = workload.exchanges[0]
  if (request.length > MAX_CHUNK) return { skipped: 'it treats each chunk as a request, and these requests arrive in several chunks' }
  if (!APPS.includes(workload.app)) return { skipped: 'its fixed response would mean nothing here' }
  const date = new Date().toUTCString()
  const content = Buffer.from(body).latin1Slice()
  const answer = `HTTP/1.1 200 OK\r\nContent-Type: ${mediaType}\r\nContent-Length: ${content.length}\r\nDate: ${date}\r\n\r\n${content}`
  const answers = Array.from({ length: workload.depth === 1 ? 2 : 65 }, (_, count) => answer.repeat(count))

  // For the socket, short strings are cheaper than bytes, and long strings more expensive.
  const single = answer.length > MAX_CHUNK ? Buffer.from(answer, 'latin1') : answer
  const onePerChunk = (socket) => socket.on('data', () => socket.write(single, 'latin1'))
  const countedByLength = (socket) => {
    let rest = 0
    socket.on('data', (chunk) => {
      const bytes = rest + chunk.length
      rest = bytes % request.length
      const count = (bytes - rest) / request.length
      if (count > 0) socket.write(answers[count] ?? answer.repeat(count), 'latin1')
    })
  }

  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => socket.destroy())
    if (workload.depth > 1) countedByLength(socket)
    else onePerChunk(socket)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { port: server.address().port }
}
