// Counts the responses that end in the given bytes. It is fast, because the load generator calls it for every piece that it receives. The
// heads from one server look alike, so it first tries the place where Content-Length's value was in the last head, and reads the head in
// full only if the value is not there. Chunked responses are read from their beginning until they are complete, because they are small.

const CR = 13
const LF = 10
const ZERO = 48
const LENGTH_FIELD = 'content-length: '
const CHUNKED_FIELD = '\r\ntransfer-encoding: chunked\r\n'

/** Where the chunked body that begins at `at` ends; 0 if it is incomplete. It must have no trailers. */
export function endOfChunks(bytes, at, end) {
  for (let from = at; ; ) {
    const lineEnd = bytes.indexOf('\r\n', from, 'latin1')
    if (lineEnd === -1 || lineEnd + 2 > end) return 0
    const size = Number.parseInt(bytes.latin1Slice(from, lineEnd), 16)
    from = lineEnd + 2 + size + 2
    if (from > end) return 0
    if (size === 0) return from
  }
}

export class AnswerCounter {
  /** What was wrong if `count` returned -1. */
  complaint = ''

  #left = 0 // remaining bytes of a response whose head is known
  #carried = null // the beginning of an incomplete head
  #valueAt = 0 // learned from the last head: where the value of Content-Length begins
  #tail = 0 // and how many bytes of the head follow it

  /** @returns {number} how many responses the first `length` bytes of `bytes` complete; -1 for anything but responses with status 200 */
  count(bytes, length) {
    let buffer = bytes
    let end = length
    let at = 0
    let answers = 0
    if (this.#carried !== null) {
      buffer = Buffer.concat([this.#carried, bytes.subarray(0, length)])
      end = buffer.length
      this.#carried = null
    }
    if (this.#left > 0) {
      if (end < this.#left) {
        this.#left -= end
        return 0
      }
      at = this.#left
      this.#left = 0
      answers = 1
    }
    while (at < end) {
      const size = this.#sizeAt(buffer, at, end)
      if (size < 0) return -1
      if (size === 0) {
        this.#carried = Buffer.from(buffer.subarray(at, end))
        return answers
      }
      if (at + size > end) {
        this.#left = at + size - end
        return answers
      }
      at += size
      answers++
    }
    return answers
  }

  /** Size of the response that begins at `at`; 0 if its head is incomplete, -1 if it is not acceptable. */
  #sizeAt(bytes, at, end) {
    if (this.#valueAt > 0) {
      let p = at + this.#valueAt
      let size = 0
      while (p < end && bytes[p] >= ZERO && bytes[p] <= ZERO + 9) size = size * 10 + bytes[p++] - ZERO
      const bodyAt = p + this.#tail
      const known =
        bodyAt <= end &&
        bytes[p] === CR &&
        bytes[at + this.#valueAt - 2] === 58 && // ':'
        bytes[bodyAt - 1] === LF &&
        bytes[bodyAt - 2] === CR &&
        bytes[bodyAt - 3] === LF &&
        bytes[at + 9] === 50 && // '200'
        bytes[at + 10] === ZERO &&
        bytes[at + 11] === ZERO
      if (known) return bodyAt - at + size
    }
    return this.#learn(bytes, at, end)
  }

  #learn(bytes, at, end) {
    const headEnd = bytes.indexOf('\r\n\r\n', at, 'latin1')
    if (headEnd === -1 || headEnd + 4 > end) return 0
    const head = bytes.latin1Slice(at, headEnd + 2)
    const lower = head.toLowerCase()
    if (head.startsWith('HTTP/1.1 200 ') && lower.includes(CHUNKED_FIELD)) {
      const bodyEnd = endOfChunks(bytes, headEnd + 4, end)
      return bodyEnd === 0 ? 0 : bodyEnd - at
    }
    const field = lower.indexOf(`\r\n${LENGTH_FIELD}`)
    if (!head.startsWith('HTTP/1.1 200 ') || field === -1) {
      this.complaint = `not a 200 with Content-Length or chunks: ${head}`
      return -1
    }
    this.#valueAt = field + 2 + LENGTH_FIELD.length
    const digits = /^\d+/.exec(head.slice(this.#valueAt))[0]
    this.#tail = head.length + 2 - this.#valueAt - digits.length
    return head.length + 2 + Number(digits)
  }
}
