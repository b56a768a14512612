// One recorded exchange, sent again over a connection in memory whose clock is moved as time passed when it was recorded.

import { Buffer } from 'node:buffer'
import type { Masking } from '../../modules/kit/masking.ts'
import type { ConnectionHost } from '../../net/connections/connection-host.ts'
import type { AnswerHead } from '../../net/inject/answer-reader.ts'
import { ClientConnection } from '../client-connection.ts'
import { settled, TestClock } from '../test-clock.ts'
import type { Comparison, Difference } from './comparison.ts'
import { decodedBody } from './decoded-body.ts'
import { secretsOf } from './masked-response.ts'
import type { RecordedExchange } from './recorded-exchange.ts'

export interface ReplayedExchange {
  readonly host: ConnectionHost
  readonly exchange: RecordedExchange
  readonly comparison: Comparison
  readonly masking: Masking
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
  const { host, exchange, comparison, masking, restore, patienceMs } = options
  const clock = new TestClock()
  const { isSecure, endpoint, response } = exchange
  const client = new ClientConnection(host, {
    clock,
    patienceMs,
    ...(endpoint === null ? {} : { endpoint }),
    ...(isSecure ? { peer: { isSecure } } : {}),
  })
  const answer = new Answer(client, exchange.method === 'HEAD')
  const secrets = masking.request(exchange.pieces.map(({ bytes }) => bytes).join(''), exchange.method === '')?.secrets ?? []
  try {
    let now = 0
    const passTo = async (ms: number): Promise<void> => {
      if (ms <= now) return
      await clock.advance(ms - now)
      now = ms
    }
    for (const { atMs, bytes } of withRestored(exchange.pieces, restore)) {
      // What the client sent after the response was not sent before it.
      if (response.isWhole && response.endMs < atMs) await answer.read()
      await passTo(atMs)
      await client.perform({ kind: 'send', bytes: Buffer.from(bytes, 'latin1') })
      await settled()
    }
    if (exchange.endedAtMs !== null) {
      await passTo(exchange.endedAtMs)
      await client.perform({ kind: 'end' })
    }
    if (TIMEOUT_STATUSES.has(response.status)) {
      for (let turn = 0; turn < TURNS && !answer.hasBegun; turn++) await settled()
      if (!answer.hasBegun) await passTo(response.firstByteMs + TICK_MS)
    }
    const head = response.isWhole ? await answer.read() : await answer.readHead()
    const { status, headers } = head
    const raw = answer.body
    const body = decodedBody(raw, headers.get('content-encoding'), MOST_BODY_BYTES)
    const { trailers } = client.reader
    const own = secretsOf(masking, [...headers, ...trailers], headers.get('content-type'), body)
    return comparison.differences(response, { status, headers, trailers, raw, body }, [...secrets, ...own])
  } catch (error) {
    return [{ kind: 'response', at: '', recorded: String(response.status), replayed: (error as Error).message }]
  } finally {
    client.leave('reset')
  }
}

/** The response on a client's connection, as far as it has been read. */
class Answer {
  readonly #client: ClientConnection
  readonly #isToHead: boolean
  #head: AnswerHead | null = null
  readonly #pieces: Buffer[] = []

  constructor(client: ClientConnection, isToHead: boolean) {
    this.#client = client
    this.#isToHead = isToHead
  }

  get hasBegun(): boolean {
    return this.#takeHead() || this.#client.hasEnded
  }

  get body(): Buffer {
    return Buffer.concat(this.#pieces)
  }

  async readHead(): Promise<AnswerHead> {
    await this.#client.until('the response', () => this.#takeHead())
    return this.#head!
  }

  /** To the end of the body. */
  async read(): Promise<AnswerHead> {
    const head = await this.readHead()
    await this.#client.until('the rest of the response', () => this.#takeBody())
    return head
  }

  #takeHead(): boolean {
    while (this.#head === null) {
      const head = this.#client.reader.takeHead(this.#isToHead)
      if (head === null) return false
      if (head.status >= 200 || head.status === 101) this.#head = head
    }
    return true
  }

  #takeBody(): boolean {
    const { reader } = this.#client
    for (let piece = reader.takePiece(); piece !== null; piece = reader.takePiece()) this.#pieces.push(piece)
    this.#client.makeRoom()
    return reader.isWhole
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
