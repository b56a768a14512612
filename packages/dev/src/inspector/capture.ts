// Makes an entry of each exchange. While a request is answered, only references and copies of bodies are taken; everything else is done when
// observers are told about its end, which no response waits for.

import { Buffer, isUtf8 } from 'node:buffer'
import type { ExchangeObserver, ExchangeRecord, HttpResponse, HttpSession, Middleware, Next } from 'weirjs'
import { dev, exchange, isInstance, ownText } from 'weirjs/kit'

import { messageCoding } from '../recording/decoded-body.ts'
import type { Entry, KeptBody, KeptError, Stages } from './entry.ts'
import type { ExchangeList } from './exchange-list.ts'
import { SocketMessages } from './socket-messages.ts'

/** How much of a head is kept. */
const MOST_HEAD_CHARS = 64 * 1024
/** When exceeded, the secrets of further fields of a head are not looked for elsewhere: each costs a search of the whole exchange. */
const MOST_HEAD_SECRETS = 500
/** What a millisecond of making an entry counts among what is read in a turn of the event loop, which takes about 20 ms. */
const WORK_OF_MS = 75_000
const MOST_CAUSES = 5
const MOST_ERROR_CHARS = 4_000

/** The captured parts of an exchange in progress. */
class Draft {
  /** Milliseconds of the process: when the head was complete, the first middleware began, and it was done. */
  readonly begunAt = performance.now()
  enteredAt: number | null = null
  handledAt: number | null = null
  request: KeptBytes | null = null
  response: HttpResponse | null = null
  /** The part of its body that is kept, as long as it is text. */
  responseText: string | null = null
  responseBytes: KeptBytes | null = null
  responseLength: number | null = null
  responseIsStream = false
  /** Whether it had a content coding before any other module could add one. */
  responseIsCoded = false
  /** If it becomes a WebSocket. */
  messages: SocketMessages | null = null
}

/** The beginning of a body. */
class KeptBytes {
  readonly #most: number
  #memory: Buffer = Buffer.alloc(0)
  #size = 0
  /** How many bytes the body has had so far. */
  passed = 0

  constructor(most: number) {
    this.#most = most
  }

  /** @param piece bytes, which are copied, or text; sending fails for anything else */
  add(piece: unknown): void {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece instanceof Uint8Array ? piece : null
    if (bytes === null) return
    this.passed += bytes.length
    const size = Math.min(this.#size + bytes.length, this.#most)
    if (size > this.#memory.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(size, Math.min(2 * this.#memory.length, this.#most)))
      this.#memory.copy(larger, 0, 0, this.#size)
      this.#memory = larger
    }
    this.#memory.set(bytes.subarray(0, size - this.#size), this.#size)
    this.#size = size
  }

  bytes(): Buffer {
    return this.#memory.subarray(0, this.#size)
  }
}

export class Capture implements ExchangeObserver {
  readonly #list: ExchangeList
  readonly #masking: dev.Masking
  readonly #mostBody: number
  readonly #isOwn: (path: string) => boolean
  /** The draft of each session. An exchange that never ends keeps nothing alive. */
  readonly #drafts = new WeakMap<HttpSession, Draft>()
  readonly #knownRoutes = new Set<string | null>()
  #number = 0

  /** @param isOwn whether a path belongs to the inspector itself */
  constructor(list: ExchangeList, masking: dev.Masking, mostBody: number, isOwn: (path: string) => boolean) {
    this.#list = list
    this.#masking = masking
    this.#mostBody = mostBody
    this.#isOwn = isOwn
  }

  begin({ kind, session }: { readonly kind: 'request' | 'upgrade'; readonly session: HttpSession }): void {
    if (kind === 'request' && !this.#isOwn(session.request.path)) this.#drafts.set(session, new Draft())
  }

  /** Runs around the handler. */
  readonly middleware: Middleware = (session, next) => {
    const draft = this.#drafts.get(session)
    if (draft === undefined) return next()
    draft.enteredAt = performance.now()
    this.#keepRequest(session, draft)
    return this.#time(draft, next)
  }

  #keepRequest(session: HttpSession, draft: Draft): void {
    // The secrets of compressed bytes cannot be found.
    if (exchange(session).contentLength === 0 || codingOf(session, exchange(session).isDecoded) !== null) return
    const kept = new KeptBytes(this.#mostBody)
    if (dev.watchBody(session, (bytes) => kept.add(bytes))) draft.request = kept
  }

  #time(draft: Draft, next: Next): unknown {
    const done = (): void => {
      draft.handledAt = performance.now()
    }
    let result: HttpResponse | Promise<HttpResponse>
    try {
      result = next()
    } catch (error) {
      done()
      throw error
    }
    if (result instanceof Promise) result.then(done, done)
    else done()
    return result
  }

  readonly beforeSend = (session: HttpSession, response: HttpResponse): void => {
    const draft = this.#drafts.get(session)
    if (draft === undefined) return
    const { content } = response
    draft.response = response
    draft.responseIsCoded = codingIn((name) => response.getHeader(name)) !== null
    draft.responseText = null
    draft.responseBytes = null
    draft.responseLength = null
    draft.responseIsStream = false
    draft.messages = null
    if (content.kind === 'text') {
      draft.responseText = content.text.length > this.#mostBody ? content.text.slice(0, this.#mostBody) : content.text
      draft.responseLength = content.text.length
    } else if (content.kind === 'bytes') {
      draft.responseBytes = new KeptBytes(this.#mostBody)
      draft.responseBytes.add(content.bytes)
      draft.responseLength = content.bytes.length
    } else if (content.kind === 'stream') {
      const kept = new KeptBytes(this.#mostBody)
      draft.responseBytes = kept
      draft.responseIsStream = true
      const declared = response.getHeader('content-length')
      if (declared !== null) draft.responseLength = Number(declared)
      dev.watchContent(response, (piece) => kept.add(piece))
    } else if (content.kind === 'upgrade' && content.protocol === 'websocket') {
      this.#masking.refresh() // the record of the request comes after the first messages
      const messages = new SocketMessages(this.#masking, () => this.#request(session).secrets)
      draft.messages = messages
      dev.watchContent(response, (message, isFromClient) => messages.add(isFromClient === true, message as string | Uint8Array))
    }
  }

  end(record: ExchangeRecord): void {
    const { kind, session, route } = record
    if (session === null) {
      this.#list.add(this.#entryOf(record, null, record.firstBytes === null ? '' : this.#masking.refusedHead(record.firstBytes)))
      return
    }
    const draft = this.#drafts.get(session)
    if (kind === 'request' ? draft === undefined : this.#isOwn(session.request.path)) return
    if (!this.#knownRoutes.has(route)) {
      this.#masking.refresh()
      this.#knownRoutes.add(route)
    }
    // What clients send at the same time is read, and so kept, in several turns of the event loop.
    const kept = exchange(session).whileReading(() => {
      const start = performance.now()
      this.#list.add(this.#entryOf(record, kind === 'request' ? draft! : null, ''))
      return WORK_OF_MS * (performance.now() - start)
    })
    kept?.catch((error: Error) => process.emitWarning(error))
  }

  #entryOf(record: ExchangeRecord, draft: Draft | null, refused: string): Entry {
    const { session, kind, method, route, status, outcome, code, error, startedAt, durationMs, firstByteMs, bytesIn, bytesOut } = record
    const request = session === null ? null : this.#request(session)
    const secrets = request?.secrets ?? []
    const requestBody = session === null ? null : this.#requestBody(session, draft, secrets)
    const responseHead = draft === null || status === null ? null : this.#responseHead(draft.response, status, secrets)
    const responseBody = draft === null || draft.response === null ? null : this.#responseBody(draft, record, secrets)
    // All secrets are known only now, and each part may repeat the secrets of the others.
    const hidden = secrets.map(ownText) // so that they do not keep the head in memory
    return {
      number: ++this.#number,
      kind,
      method,
      route,
      answeredBy: session === null ? null : exchange(session).answeredBy,
      status,
      outcome,
      code,
      rpcStatus: session === null ? null : (exchange(session).rpc?.status ?? null),
      error: this.#error(error, secrets),
      startedAt,
      durationMs,
      firstByteMs,
      bytesIn,
      bytesOut,
      url: request === null ? null : this.#masking.without(request.target, secrets),
      requestId: kind === 'request' ? record.requestId : null,
      connectionId: record.connectionId,
      protocol: record.protocol,
      clientAddress: record.clientAddress,
      isSecure: session?.isSecure ?? false,
      peer: session === null ? null : peerOf(session),
      endpoint: session?.endpoint ?? null,
      requestHead: request === null ? refused : this.#masking.without(request.head, secrets),
      requestBody: this.#bodyWithout(requestBody, secrets),
      responseHead: responseHead === null ? null : this.#masking.without(responseHead, secrets),
      responseBody: this.#bodyWithout(responseBody, secrets),
      stages: stagesOf(draft, record),
      messages: session === null ? null : (this.#drafts.get(session)?.messages ?? null),
      lines: [],
      hide: (line) => this.#masking.without(line, hidden),
      hiddenChars: hidden.reduce((sum, secret) => sum + secret.length, 0),
    }
  }

  #request(session: HttpSession): { readonly head: string; readonly target: string; readonly secrets: string[] } {
    const { method, rawTarget, protocol } = session.request
    const { text: target, secrets } = this.#masking.target(rawTarget)
    const { head, secrets: others } = this.#head(`${method} ${target} ${protocol}`, dev.requestFields(session))
    return { head, target, secrets: [...secrets, ...others] }
  }

  #head(
    firstLine: string,
    fields: Iterable<readonly [name: string, value: string]>,
  ): { readonly head: string; readonly secrets: string[] } {
    const found: string[] = []
    let head = `${firstLine}\r\n`
    for (const [name, value] of fields) {
      if (head.length > MOST_HEAD_CHARS) break
      const masked = this.#masking.field(name, value)
      if (found.length < MOST_HEAD_SECRETS) found.push(...masked.secrets)
      head += `${name}: ${masked.text}\r\n`
    }
    return { head, secrets: found }
  }

  /** Adds the secrets of the body to `secrets`. */
  #requestBody(session: HttpSession, draft: Draft | null, secrets: string[]): KeptBody | null {
    const { contentLength } = exchange(session)
    if (contentLength === 0 || draft === null) return null
    const { request } = draft
    const isCoded = codingOf(session) !== null
    if (request === null) return { text: '', isBase64: false, length: contentLength, cut: isCoded ? 'coded' : 'stream' }
    return this.#kept(request, isCoded ? null : contentLength, exchange(session).field('content-type'), secrets)
  }

  /** Adds the secrets of the fields to `secrets`. */
  #responseHead(response: HttpResponse | null, status: number, secrets: string[]): string {
    const { head, secrets: own } = this.#head(String(status), response === null ? [] : dev.responseFields(response))
    secrets.push(...own)
    return head
  }

  #responseBody(draft: Draft, { method, outcome }: ExchangeRecord, secrets: string[]): KeptBody | null {
    const { response, responseText, responseBytes, responseLength } = draft
    if (method === 'HEAD' || draft.response!.content.kind === 'none') return null
    if (draft.responseIsCoded) return { text: '', isBase64: false, length: responseLength, cut: 'coded' }
    if (responseText !== null) {
      const { text, secrets: own } = this.#masking.body(responseText, typeOf(response!))
      secrets.push(...own)
      return {
        text,
        isBase64: false,
        length: responseLength,
        cut: responseLength! > responseText.length ? 'large' : null,
      }
    }
    if (responseBytes === null) return null
    const body = this.#kept(responseBytes, responseLength, typeOf(response!), secrets)
    return draft.responseIsStream && body.cut === null && outcome !== 'completed' ? { ...body, cut: 'stream' } : body
  }

  /** Adds the secrets of the body to `secrets`. @param length null: the length of what has passed */
  #kept(kept: KeptBytes, length: number | null, contentType: string | null, secrets: string[]): KeptBody {
    const bytes = kept.bytes()
    const cut = kept.passed > bytes.length ? 'large' : length !== null && length > kept.passed ? 'stream' : null
    length ??= kept.passed
    // The end of a body that is cut may be a part of a character.
    const whole = cut === null ? bytes : bytes.subarray(0, lastCharacterEnd(bytes))
    // Text in another encoding has the same names.
    const isText = isUtf8(whole)
    const text = isText ? whole.toString('utf8') : bytes.toString('latin1')
    const { text: shown, secrets: own } = this.#masking.body(text, contentType)
    secrets.push(...own)
    return { text: shown, isBase64: !isText, length, cut }
  }

  /** @param body with its bytes as characters, where they are not text */
  #bodyWithout(body: KeptBody | null, secrets: readonly string[]): KeptBody | null {
    if (body === null) return null
    const text = this.#masking.without(body.text, secrets)
    return { ...body, text: body.isBase64 ? Buffer.from(text, 'latin1').toString('base64') : text }
  }

  /** Never throws, although the members of a thrown value may. */
  #error(thrown: unknown, secrets: readonly string[]): KeptError | null {
    if (thrown === null || thrown === undefined) return null
    const texts: string[] = []
    try {
      for (let one: unknown = thrown; one !== undefined && one !== null && texts.length < MOST_CAUSES; ) {
        texts.push(this.#masking.without(String(one).slice(0, MOST_ERROR_CHARS), secrets))
        one = isInstance(one, Error) ? one.cause : null
      }
    } catch {
      texts.push('an error that cannot be shown')
    }
    return { texts, thrown }
  }
}

/** The content coding of a body, or the compression of the messages in it; null if there is none. */
function codingIn(field: (name: string) => string | null): string | null {
  return field('content-encoding') ?? messageCoding(field)
}

/** The same of a request. @param isDecoded whether its content coding has been removed */
function codingOf(session: HttpSession, isDecoded = false): string | null {
  const field = (name: string): string | null => exchange(session).field(name)
  return isDecoded ? messageCoding(field) : codingIn(field)
}

function typeOf(response: HttpResponse): string | null {
  return response.getHeader('content-type')
}

function lastCharacterEnd(bytes: Buffer): number {
  let end = bytes.length
  for (let i = 0; i < 4 && end > 0; i++) {
    const byte = bytes[end - 1]!
    if (byte < 0x80) return end
    end--
    if (byte >= 0xc0) return end
  }
  return bytes.length
}

function stagesOf(draft: Draft | null, { firstByteMs, durationMs }: ExchangeRecord): Stages {
  if (draft === null) return { waitMs: null, handlerMs: null, sendMs: null, bodyMs: null }
  const { begunAt, enteredAt, handledAt } = draft
  const handled = handledAt === null ? null : handledAt - begunAt
  return {
    waitMs: enteredAt === null ? null : enteredAt - begunAt,
    handlerMs: enteredAt === null || handledAt === null ? null : handledAt - enteredAt,
    sendMs: firstByteMs === null ? null : Math.max(0, firstByteMs - (handled ?? 0)),
    bodyMs: firstByteMs === null ? null : Math.max(0, durationMs - firstByteMs),
  }
}

function peerOf({ peer: { address, isSecure } }: HttpSession): NonNullable<Entry['peer']> {
  return { address, isSecure }
}
