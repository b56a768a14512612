// Handlers of every kind for a simulation: what each of them does, and what its client must see.

import { Readable } from 'node:stream'

import type { Gate } from '../../src/app/policies/policy.ts'
import { HttpError } from '../../src/base/errors.ts'
import type { HttpSession } from '../../src/http/session.ts'

/** What a handler can use of its simulation. */
export interface Stage {
  /** Resolves immediately, or when the simulation decides. */
  pause(): Promise<void>
  /** Resolves when all connections are gone. */
  readonly afterAll: Promise<void>
  /** Registers a source that must be closed in the end, whatever reads it. */
  opened(name: string): { closed(): void }
  /** Reports something that a server must not do. */
  blame(what: string): void
}

/** What the client must see: a status, a reset connection (perhaps without any response), or nothing until the connection ends. */
export type Ending = number | 'break' | 'nothing'

export interface Temper {
  readonly method: 'GET' | 'POST'
  /** The handler starts before its body is complete. */
  readonly streams?: true
  readonly ending: Ending
  /** It requests `Connection: close`. */
  readonly closes?: true
  /** It may not read its body to the end. The rest decides whether the connection can stay open. */
  readonly leavesBody?: true
  /** The body of its 200; `sent` is that of the request. Without it any body is accepted. */
  readonly answers?: (n: number, sent: Buffer) => string | Uint8Array
  /** Runs before its body is read. */
  readonly gate?: (stage: Stage, n: number, session: HttpSession) => ReturnType<Gate>
  /** Its gate refuses every request, whatever body it has. */
  readonly refuses?: true
  readonly handle: (stage: Stage, n: number, session: HttpSession) => unknown
}

/** The message of errors that handlers throw on purpose. */
export const PLANNED = 'as planned'
const planned = (): Error => new Error(PLANNED)

/** Pieces of a streamed response: some empty, some larger than what a socket accepts at once. */
export function piecesOf(n: number): string[] {
  const sizes = [[10], [3000, 0, 1], [], [1, 1, 1, 1], [700, 20_000]][n % 5]!
  return sizes.map((size, i) => String.fromCharCode(97 + ((n + i) % 26)).repeat(size))
}
const streamed = (n: number): string => piecesOf(n).join('')
const large = (n: number): Uint8Array => Buffer.alloc(30_000, `${n} `)

/** Yields its pieces and then ends in one of three ways. It knows whether it was closed. */
class Source implements AsyncIterable<string>, AsyncIterator<string> {
  readonly #stage: Stage
  readonly #rest: string[]
  readonly #end: 'done' | 'error' | 'never'
  readonly #open: { closed(): void }
  #isReturned = false
  #release = (): void => {}

  constructor(stage: Stage, pieces: readonly string[], end: 'done' | 'error' | 'never') {
    this.#stage = stage
    this.#rest = [...pieces]
    this.#end = end
    this.#open = stage.opened('iterable')
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<string>> {
    await this.#stage.pause()
    const value = this.#rest.shift()
    if (value !== undefined) return { done: false, value }
    if (this.#end === 'never' && !this.#isReturned) await new Promise<void>((resolve) => (this.#release = resolve))
    this.#open.closed()
    if (this.#end === 'error') throw planned()
    return { done: true, value: undefined }
  }

  async return(): Promise<IteratorResult<string>> {
    this.#open.closed()
    this.#isReturned = true
    this.#release()
    return { done: true, value: undefined }
  }
}

function source(stage: Stage, pieces: readonly string[], end: 'done' | 'error' | 'never'): AsyncIterable<string> {
  return new Source(stage, pieces, end)
}

function readable(stage: Stage, pieces: readonly string[], fails: boolean): Readable {
  const open = stage.opened('Readable')
  const rest = [...pieces]
  const stream = new Readable({
    read() {
      stage.pause().then(() => {
        const piece = rest.shift()
        if (piece !== undefined) this.push(Buffer.from(piece === '' ? '-' : piece))
        else if (fails) this.destroy(planned())
        else this.push(null)
      })
    },
  })
  stream.on('error', () => {})
  return stream.on('close', () => open.closed())
}

function webStream(stage: Stage, pieces: readonly string[]): ReadableStream<Uint8Array> {
  const open = stage.opened('ReadableStream')
  const rest = [...pieces]
  return new ReadableStream({
    async pull(controller) {
      await stage.pause()
      const piece = rest.shift()
      if (piece !== undefined) {
        controller.enqueue(Buffer.from(piece))
        return
      }
      open.closed()
      controller.close()
    },
    cancel: () => open.closed(),
  })
}

/** Rejects when the signal aborts, or has. */
function aborted(signal: AbortSignal): Promise<never> {
  if (signal.aborted) return Promise.reject(signal.reason as Error)
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
}

async function readAll(stage: Stage, session: HttpSession): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of session.request.bodyStream()) {
    pieces.push(piece as Buffer)
    await stage.pause()
  }
  return Buffer.concat(pieces)
}

/** A promise that is not awaited. It may reject, but only with an error that the server announces. */
function forgotten(stage: Stage, promise: Promise<unknown>): void {
  promise.catch((error: Error & { code?: string }) => {
    const isKnown = /^WEIR_|^ERR_STREAM_PREMATURE_CLOSE$|^ABORT_ERR$/.test(error.code ?? '')
    if (!isKnown) stage.blame(`a late reader got ${String(error)}`)
  })
}

export const TEMPERS: Readonly<Record<string, Temper>> = {
  // Responses in one piece.
  text: { method: 'GET', ending: 200, answers: (n) => `text ${n}`, handle: (_, n) => `text ${n}` },
  unicode: { method: 'GET', ending: 200, answers: (n) => `é€ ${n}`, handle: (_, n) => `é€ ${n}` },
  bytes: { method: 'GET', ending: 200, answers: large, handle: (_, n) => large(n) },
  nothing: { method: 'GET', ending: 204, handle: () => undefined },
  later: {
    method: 'GET',
    ending: 200,
    answers: (n) => `later ${n}`,
    async handle(stage, n) {
      await stage.pause()
      return `later ${n}`
    },
  },
  closing: {
    method: 'GET',
    ending: 200,
    closes: true,
    handle: (_, __, { response }) => response.header('Connection', 'close').text('bye'),
  },
  changing: {
    method: 'GET',
    ending: 200,
    answers: () => 'last word',
    handle(stage, n, { response }) {
      response.stream(source(stage, piecesOf(n), 'done'))
      return response.stream(readable(stage, piecesOf(n), false)).text('last word')
    },
  },

  // Failures.
  throwing: {
    method: 'GET',
    ending: 500,
    handle() {
      throw planned()
    },
  },
  refusing: {
    method: 'GET',
    ending: 409,
    handle() {
      throw new HttpError(409, PLANNED)
    },
  },
  rejecting: {
    method: 'GET',
    ending: 500,
    async handle(stage) {
      await stage.pause()
      throw planned()
    },
  },
  halfDone: {
    method: 'GET',
    ending: 500,
    handle(stage, n, { response }) {
      response.header('Content-Length', 5).stream(source(stage, piecesOf(n), 'done'))
      throw planned()
    },
  },
  unsendable: { method: 'GET', ending: 500, handle: () => Symbol(PLANNED) },
  never: { method: 'GET', ending: 'nothing', handle: () => new Promise(() => {}) },
  untilAborted: {
    method: 'GET',
    ending: 'nothing',
    handle: (_, __, { signal }) => aborted(signal),
  },
  tooLate: {
    method: 'GET',
    ending: 'nothing',
    async handle(stage) {
      await stage.afterAll
      return 'too late'
    },
  },
  tooLateStream: {
    method: 'GET',
    ending: 'nothing',
    async handle(stage, n) {
      await stage.afterAll
      return n % 2 === 0 ? source(stage, piecesOf(n), 'done') : readable(stage, piecesOf(n), false)
    },
  },
  tooLateFailure: {
    method: 'GET',
    ending: 'nothing',
    async handle(stage) {
      await stage.afterAll
      throw planned()
    },
  },

  // Streamed responses.
  stream: { method: 'GET', ending: 200, answers: streamed, handle: (stage, n) => source(stage, piecesOf(n), 'done') },
  streamOfLength: {
    method: 'GET',
    ending: 200,
    answers: streamed,
    handle: (stage, n, { response }) =>
      response.header('Content-Length', streamed(n).length).stream(source(stage, piecesOf(n), 'done'), 'text/plain'),
  },
  /** Over HTTP/1.1 its clients do not ask for trailers. */
  trailing: {
    method: 'GET',
    ending: 200,
    answers: streamed,
    handle: (stage, n, { response }) =>
      response.trailer('X-Sum', () => stage.pause().then(() => `sum ${n}`)).stream(source(stage, piecesOf(n), 'done')),
  },
  hinting: {
    method: 'GET',
    ending: 200,
    answers: (n) => `hinted ${n}`,
    async handle(stage, n, { response }) {
      response.earlyHints({ link: `</${n}>` })
      await stage.pause()
      response.earlyHints({ link: '</last>' })
      return `hinted ${n}`
    },
  },
  streamTooShort: {
    method: 'GET',
    ending: 'break',
    handle: (stage, _, { response }) => response.header('Content-Length', 50).stream(source(stage, ['too', 'short'], 'done')),
  },
  streamTooLong: {
    method: 'GET',
    ending: 'break',
    handle: (stage, _, { response }) => response.header('Content-Length', 5).stream(source(stage, ['too', 'long'], 'done')),
  },
  streamFailsAtOnce: { method: 'GET', ending: 500, handle: (stage) => source(stage, [], 'error') },
  streamFails: { method: 'GET', ending: 'break', handle: (stage, n) => source(stage, [`begin ${n}`], 'error') },
  streamNever: { method: 'GET', ending: 'break', handle: (stage, n) => source(stage, [`begin ${n}`], 'never') },
  readable: {
    method: 'GET',
    ending: 200,
    answers: (n) =>
      piecesOf(n)
        .map((piece) => (piece === '' ? '-' : piece))
        .join(''),
    handle: (stage, n) => readable(stage, piecesOf(n), false),
  },
  readableFails: { method: 'GET', ending: 'break', handle: (stage, n) => readable(stage, [`begin ${n}`], true) },
  web: { method: 'GET', ending: 200, answers: streamed, handle: (stage, n) => webStream(stage, piecesOf(n)) },
  webResponse: {
    method: 'GET',
    ending: 200,
    answers: streamed,
    async handle(stage, n) {
      await stage.pause()
      return new Response(webStream(stage, piecesOf(n)))
    },
  },

  // Buffered bodies.
  echo: { method: 'POST', ending: 200, answers: (_, sent) => sent, handle: (_, __, { request }) => request.body },
  echoLater: {
    method: 'POST',
    ending: 200,
    answers: (_, sent) => sent,
    async handle(stage, _, { request }) {
      await stage.pause()
      return request.bodyBytes
    },
  },
  echoView: { method: 'POST', ending: 200, answers: (_, sent) => sent, handle: (_, __, { request }) => request.bodySpan },
  echoPieces: {
    method: 'POST',
    ending: 200,
    answers: (_, sent) => sent,
    handle: (stage, _, { request }) => source(stage, [request.body, ''], 'done'),
  },
  remembering: {
    method: 'POST',
    ending: 200,
    answers: (_, sent) => sent,
    handle(stage, _, { request }) {
      const { body } = request
      setImmediate(() => {
        // Whatever has happened since: it returns the same, or throws WEIR_REQUEST_EXPIRED.
        try {
          if (request.body !== body) stage.blame('a body changed after its request had ended')
        } catch (error) {
          if ((error as { code?: string }).code !== 'WEIR_REQUEST_EXPIRED') stage.blame(`a late read of a body threw ${String(error)}`)
        }
      })
      return body
    },
  },

  // Bodies that arrive while the handler runs.
  gathering: {
    method: 'POST',
    streams: true,
    ending: 200,
    answers: (_, sent) => sent,
    async handle(stage, _, { request }) {
      await stage.pause()
      await request.bufferBody()
      await stage.pause()
      return request.body
    },
  },
  reading: {
    method: 'POST',
    streams: true,
    ending: 200,
    answers: (_, sent) => sent,
    handle: (stage, _, session) => readAll(stage, session),
  },
  echoStream: {
    method: 'POST',
    streams: true,
    ending: 200,
    answers: (_, sent) => sent,
    handle: (_, __, { request }) => request.bodyStream(),
  },
  echoStreamLater: {
    method: 'POST',
    streams: true,
    ending: 200,
    answers: (_, sent) => sent,
    async *handle(stage, _, { request }) {
      for await (const piece of request.bodyStream()) {
        await stage.pause()
        yield piece as Buffer
      }
    },
    leavesBody: true,
  },
  ignoring: { method: 'POST', streams: true, ending: 200, leavesBody: true, answers: () => 'ignored', handle: () => 'ignored' },
  ignoringLater: {
    method: 'POST',
    streams: true,
    ending: 200,
    leavesBody: true,
    answers: (n) => streamed(n),
    async handle(stage, n) {
      await stage.pause()
      return source(stage, piecesOf(n), 'done')
    },
  },
  givingUp: {
    method: 'POST',
    streams: true,
    ending: 200,
    leavesBody: true,
    answers: () => 'enough',
    async handle(stage, _, { request }) {
      const body = request.bodyStream()
      for await (const _piece of body) break
      await stage.pause()
      return 'enough'
    },
  },
  failingInBody: {
    method: 'POST',
    streams: true,
    ending: 500,
    leavesBody: true,
    async handle(stage, _, { request }) {
      for await (const _piece of request.bodyStream()) {
        await stage.pause()
        break
      }
      throw planned()
    },
  },
  forgetting: {
    method: 'POST',
    streams: true,
    ending: 200,
    leavesBody: true,
    answers: () => 'forgot',
    async handle(stage, n, session) {
      forgotten(stage, n % 2 === 0 ? readAll(stage, session) : session.request.bufferBody())
      await stage.pause()
      return 'forgot'
    },
  },

  // Gates.
  gatePasses: {
    method: 'POST',
    ending: 200,
    answers: (_, sent) => sent,
    gate: (stage, _, session) => checkThatBodyIsClosed(stage, session),
    handle: (_, __, { request }) => request.body,
  },
  gatePassesLater: {
    method: 'POST',
    ending: 200,
    answers: (_, sent) => sent,
    async gate(stage, _, session) {
      await stage.pause()
      checkThatBodyIsClosed(stage, session)
      await stage.pause()
    },
    handle: (_, __, { request }) => request.bodyBytes,
  },
  gatePassesStream: {
    method: 'POST',
    streams: true,
    ending: 200,
    answers: (_, sent) => sent,
    gate: (stage) => stage.pause(),
    handle: (stage, _, session) => readAll(stage, session),
  },
  gatePassesLaterGet: {
    method: 'GET',
    ending: 200,
    answers: (n) => `passed ${n}`,
    gate: (stage) => stage.pause(),
    handle: (_, n) => `passed ${n}`,
  },
  gateRefuses: {
    method: 'POST',
    ending: 403,
    refuses: true,
    leavesBody: true,
    gate() {
      throw new HttpError(403, PLANNED)
    },
    handle: blameHandler,
  },
  gateRefusesLater: {
    method: 'POST',
    ending: 403,
    refuses: true,
    leavesBody: true,
    async gate(stage) {
      await stage.pause()
      throw new HttpError(403, PLANNED)
    },
    handle: blameHandler,
  },
  gateFails: {
    method: 'GET',
    ending: 500,
    refuses: true,
    async gate(stage, n) {
      if (n % 2 === 0) await stage.pause()
      throw planned()
    },
    handle: blameHandler,
  },
  gateAnswers: {
    method: 'POST',
    ending: 200,
    refuses: true,
    leavesBody: true,
    answers: (n) => `gate ${n}`,
    gate: (stage, n) => (n % 2 === 0 ? `gate ${n}` : stage.pause().then(() => `gate ${n}`)),
    handle: blameHandler,
  },
  gateAnswersWithStream: {
    method: 'POST',
    streams: true,
    ending: 200,
    refuses: true,
    leavesBody: true,
    answers: streamed,
    async gate(stage, n) {
      await stage.pause()
      return source(stage, piecesOf(n), 'done')
    },
    handle: blameHandler,
  },
  gateNever: { method: 'GET', ending: 'nothing', gate: () => new Promise(() => {}), handle: blameHandler },
  gateUntilAborted: {
    method: 'POST',
    ending: 'nothing',
    leavesBody: true,
    gate: (_, __, { signal }) => aborted(signal),
    handle: blameHandler,
  },
  gateTooLate: {
    method: 'POST',
    ending: 'nothing',
    leavesBody: true,
    async gate(stage, n) {
      await stage.afterAll
      return n % 2 === 0 ? undefined : source(stage, piecesOf(n), 'done')
    },
    handle: blameHandler,
  },
}

function checkThatBodyIsClosed(stage: Stage, { request }: HttpSession): void {
  try {
    if (request.bodyLength > 0) stage.blame('a gate has read a body')
  } catch (error) {
    const { code } = error as { code?: string }
    if (code !== 'WEIR_BODY_IN_GATE' && code !== 'WEIR_CLIENT_GONE' && !request.signal.aborted)
      stage.blame(`a body in a gate threw ${String(error)}`)
  }
}

function blameHandler(stage: Stage): void {
  stage.blame('a handler ran although its gate had not let the request pass')
}
