// One recorded exchange, sent again over a connection in memory whose clock moves as time did during the recording.

import { Buffer } from 'node:buffer'
import { setImmediate as settled } from 'node:timers/promises'

import type { HttpServer } from 'weirjs'
import { dev } from 'weirjs/kit'
import { connect, type TestAnswer, type TestClient, TestClock } from 'weirjs/testing'

import type { Comparison, Difference } from './comparison.ts'
import { decodedBody } from './decoded-body.ts'
import { secretsOf } from './masked-response.ts'
import type { RecordedExchange } from './recorded-exchange.ts'

interface ReplayedExchange {
  readonly server: HttpServer
  readonly exchange: RecordedExchange
  readonly comparison: Comparison
  readonly masking: dev.Masking
  /** By names of fields. */
  readonly restore: Readonly<Record<string, string>>
  readonly patienceMs: number
}

/** The clock of a connection may tick this much later. */
const TICK_MS = 1_000
/** Responses to a client, or to a handler, that was too slow: nothing happens until the clock is moved. */
const TIMEOUT_STATUSES: ReadonlySet<number> = new Set([408, 503, 504])
/** How many turns of the event loop a handler gets before the clock is moved to a timeout. */
const TURNS = 20
const MOST_BODY_BYTES = 256 * 1024 * 1024

export async function replayExchange(options: ReplayedExchange): Promise<Difference[]> {
  const { server, exchange, comparison, masking, restore, patienceMs } = options
  const clock = new TestClock()
  const { isSecure, endpoint, response } = exchange
  const from = { ...(endpoint === null ? {} : { endpoint }), ...(isSecure ? { peer: { isSecure } } : {}) }
  const client = dev.untapped(server, () => connect(server, { clock, patience: patienceMs, ...from }))
  const received = new ReceivedResponse(client, exchange.method === 'HEAD')
  const secrets = masking.request(exchange.pieces.map(({ bytes }) => bytes).join(''), exchange.method === '')?.secrets ?? []
  try {
    let now = 0
    const passTo = async (ms: number): Promise<void> => {
      if (ms <= now) return
      await clock.advance(ms - now)
      now = ms
    }
    for (const { atMs, bytes } of withRestored(exchange.pieces, restore)) {
      // Bytes that the client sent after the response must not be sent before it.
      if (response.isWhole && response.endMs < atMs) await received.read()
      await passTo(atMs)
      await client.send(bytes)
      await settled()
    }
    if (exchange.endedAtMs !== null) {
      await passTo(exchange.endedAtMs)
      await client.end()
    }
    if (TIMEOUT_STATUSES.has(response.status)) {
      received.begin()
      for (let turn = 0; turn < TURNS && !received.hasBegun; turn++) await settled()
      if (!received.hasBegun) await passTo(response.firstByteMs + TICK_MS)
    }
    const { status, headers, trailers } = response.isWhole ? await received.read() : await received.begin()
    const raw = received.body
    const body = decodedBody(raw, headers.get('content-encoding'), MOST_BODY_BYTES)
    const own = secretsOf(masking, [...headers, ...trailers], headers.get('content-type'), body)
    return comparison.differences(response, { status, headers, trailers, raw, body }, [...secrets, ...own])
  } catch (error) {
    return [{ kind: 'response', at: '', recorded: String(response.status), replayed: (error as Error).message }]
  } finally {
    client.reset()
  }
}

/** The response on a client's connection, as far as it has been read. */
class ReceivedResponse {
  readonly #client: TestClient
  readonly #isToHead: boolean
  #head: Promise<TestAnswer> | null = null
  readonly #pieces: Buffer[] = []
  /** Whether its head has arrived, or never will. */
  hasBegun = false

  constructor(client: TestClient, isToHead: boolean) {
    this.#client = client
    this.#isToHead = isToHead
  }

  get body(): Buffer {
    return Buffer.concat(this.#pieces)
  }

  /** Waits for its head. */
  begin(): Promise<TestAnswer> {
    if (this.#head === null) {
      this.#head = this.#client.receive(this.#isToHead)
      const begun = (): void => {
        this.hasBegun = true
      }
      this.#head.then(begun, begun)
    }
    return this.#head
  }

  /** To the end of the body. */
  async read(): Promise<TestAnswer> {
    const response = await this.begin()
    for await (const piece of response) this.#pieces.push(piece)
    return response
  }
}

/** The pieces with the values of some fields replaced. The cuts stay where they were, counted in the bytes around the values. */
function withRestored(pieces: RecordedExchange['pieces'], restore: ReplayedExchange['restore']): RecordedExchange['pieces'] {
  if (Object.keys(restore).length === 0) return pieces
  const values = new Map(Object.entries(restore).map(([name, value]) => [name.toLowerCase(), value]))
  const text = pieces.map(({ bytes }) => bytes).join('')
  const headEnd = text.indexOf('\r\n\r\n')
  /** Where the recorded text was replaced, and by what. */
  const changes: { readonly start: number; readonly end: number; readonly value: string }[] = []
  for (const match of text.slice(0, headEnd === -1 ? 0 : headEnd + 2).matchAll(/\n([^:\r\n]+):[ \t]*([^\r\n]*)/g)) {
    const value = values.get(match[1]!.toLowerCase())
    const end = match.index + match[0].length
    if (value !== undefined) changes.push({ start: end - match[2]!.length, end, value })
  }
  let at = 0
  return pieces.map(({ atMs, bytes }) => {
    const from = at
    at += bytes.length
    let result = ''
    let done = from
    for (const { start, end, value } of changes) {
      if (end <= from || start >= at) continue
      // A value that is cut arrives with the piece in which it begins.
      if (start >= from) result += text.slice(done, start) + value
      done = Math.max(done, end)
    }
    return { atMs, bytes: result + text.slice(Math.min(done, at), at) }
  })
}
