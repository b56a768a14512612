// Makes an entry of each exchange. While a request is answered, only references and copies of bodies are taken; everything else is done when
// observers are told about its end, which no response waits for.

import { Buffer, isUtf8 } from 'node:buffer'
import type { Middleware, Next } from '../../app/policies/middleware.ts'
import type { DeclaredSecrets } from '../../app/routes/declared-secrets.ts'
import { isInstance } from '../../base/errors.ts'
import { bodySecrets } from '../../formats/masking/body-secrets.ts'
import { fieldSecrets, masked, repeatable, urlSecrets, withoutRepeated } from '../../formats/masking/ranges.ts'
import { refusedHeadSecrets } from '../../formats/masking/refused-head.ts'
import type { OutgoingResponse } from '../../http/answer/outgoing-response.ts'
import { type HttpResponse, outgoingOf } from '../../http/answer/response.ts'
import { type Exchange, exchangeOf } from '../../http/exchange.ts'
import type { ExchangeObserver, ExchangeRecord } from '../../http/exchange-record.ts'
import { bodyOf } from '../../http/request/request.ts'
import type { HttpSession } from '../../http/session.ts'

import type { Entry, KeptBody, KeptError, Stages } from './entry.ts'
import type { ExchangeList } from './exchange-list.ts'

/** How much of a head is kept. */
const MOST_HEAD_CHARS = 64 * 1024

/** What is taken of an exchange in progress. */
class Draft {
  /** Milliseconds of the process: when the head was complete, the first middleware began, and it was done. */
  readonly begunAt = performance.now()
  enteredAt: number | null = null
  handledAt: number | null = null
  request: KeptBytes | null = null
  response: OutgoingResponse | null = null
  /** The part of its body that is kept, as long as it is text. */
  responseText: string | null = null
  responseBytes: KeptBytes | null = null
  responseLength: number | null = null
  responseIsStream = false
  /** Whether it had a content coding before any other module could add one. */
  responseIsCoded = false
}

/** The beginning of a body that passes. */
class KeptBytes {
  readonly #most: number
  #memory: Buffer = Buffer.alloc(0)
  #size = 0
  /** How many bytes have passed. */
  passed = 0

  constructor(most: number) {
    this.#most = most
  }

  /** @param piece bytes, which are copied, or text; anything else fails where it is sent */
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
  readonly #secrets: DeclaredSecrets
  readonly #mostBody: number
  readonly #isOwn: (path: string) => boolean
  /** The draft of each session. An exchange that never ends keeps nothing alive. */
  readonly #drafts = new WeakMap<HttpSession, Draft>()
  readonly #knownRoutes = new Set<string | null>()
  #number = 0

  /** @param isOwn whether a path belongs to the inspector itself */
  constructor(list: ExchangeList, secrets: DeclaredSecrets, mostBody: number, isOwn: (path: string) => boolean) {
    this.#list = list
    this.#secrets = secrets
    this.#mostBody = mostBody
    this.#isOwn = isOwn
  }

  begin({ kind, session }: { readonly kind: 'request' | 'upgrade'; readonly session: HttpSession }): void {
    if (kind === 'request' && !this.#isOwn(exchangeOf(session).head.path)) this.#drafts.set(session, new Draft())
  }

  /** Runs around the handler. */
  readonly middleware: Middleware = (session, next) => {
    const draft = this.#drafts.get(session)
    if (draft === undefined) return next()
    draft.enteredAt = performance.now()
    this.#keepRequest(exchangeOf(session), draft)
    return this.#time(draft, next)
  }

  #keepRequest({ head, request }: Exchange, draft: Draft): void {
    if (head.contentLength === 0) return
    const body = bodyOf(request)
    // The secrets of compressed bytes cannot be found.
    if (body === null || (head.get('content-encoding') !== null && !body.isDecoded)) return
    const kept = new KeptBytes(this.#mostBody)
    draft.request = kept
    if (body.isWhole) kept.add(request.bodySpan)
    else body.watch((bytes) => kept.add(bytes))
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
    const outgoing = outgoingOf(response)
    const { content } = outgoing
    draft.response = outgoing
    draft.responseIsCoded = outgoing.getHeader('content-encoding') !== null
    draft.responseText = null
    draft.responseBytes = null
    draft.responseLength = null
    draft.responseIsStream = false
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
      const declared = outgoing.getHeader('content-length')
      if (declared !== null) draft.responseLength = Number(declared)
      outgoing.watchStream((piece) => kept.add(piece))
    }
  }

  end(record: ExchangeRecord): void {
    const { kind, session, route } = record
    if (session === null) {
      this.#list.add(this.#entryOf(record, null, null, this.#refusedHead(record.firstBytes)))
      return
    }
    const draft = this.#drafts.get(session)
    if (kind === 'request' ? draft === undefined : this.#isOwn(exchangeOf(session).head.path)) return
    if (!this.#knownRoutes.has(route)) {
      this.#secrets.refresh()
      this.#knownRoutes.add(route)
    }
    const exchange = exchangeOf(session)
    this.#list.add(this.#entryOf(record, kind === 'request' ? draft! : null, exchange, ''))
  }

  #refusedHead(firstBytes: string | null): string {
    if (firstBytes === null) return ''
    this.#secrets.refresh()
    const { names, segments } = this.#secrets
    return masked(firstBytes, refusedHeadSecrets(firstBytes, names, segments, true))
  }

  #entryOf(record: ExchangeRecord, draft: Draft | null, exchange: Exchange | null, refused: string): Entry {
    const { kind, method, route, status, outcome, code, error, startedAt, durationMs, firstByteMs, bytesIn, bytesOut } = record
    const request = exchange === null ? null : this.#request(exchange)
    const secrets = request?.secrets ?? []
    const requestBody = exchange === null ? null : this.#requestBody(exchange, draft, secrets)
    const responseHead = draft === null || status === null ? null : this.#responseHead(draft.response, status, secrets)
    const responseBody = draft === null || draft.response === null ? null : this.#responseBody(draft, record, secrets)
    // Only now, all of them are known: each part may repeat those of the others.
    return {
      number: ++this.#number,
      kind,
      method,
      route,
      status,
      outcome,
      code,
      error: keptError(error, secrets),
      startedAt,
      durationMs,
      firstByteMs,
      bytesIn,
      bytesOut,
      url: request === null ? null : withoutRepeated(request.target, secrets),
      requestId: kind === 'request' ? record.requestId : null,
      connectionId: record.connectionId,
      protocol: record.protocol,
      clientAddress: record.clientAddress,
      isSecure: record.session?.isSecure ?? false,
      peer: exchange === null ? null : peerOf(exchange),
      endpoint: exchange?.connection.endpointName ?? null,
      requestHead: request === null ? refused : withoutRepeated(request.head, secrets),
      requestBody: bodyWithoutRepeated(requestBody, secrets),
      responseHead: responseHead === null ? null : withoutRepeated(responseHead, secrets),
      responseBody: bodyWithoutRepeated(responseBody, secrets),
      stages: stagesOf(draft, record),
      lines: [],
    }
  }

  #request({ head }: Exchange): { readonly head: string; readonly target: string; readonly secrets: string[] } {
    const { names, segments } = this.#secrets
    const targetRanges = [...urlSecrets(head.target, names), ...segments.in(head.target)]
    const secrets = repeatable(head.target, targetRanges)
    const target = masked(head.target, targetRanges)
    let text = `${head.method} ${target} ${head.protocol}\r\n`
    for (const [name, value] of head.entries()) {
      if (text.length > MOST_HEAD_CHARS) break
      const ranges = fieldSecrets(name, value, names, segments)
      if (ranges.length > 0) secrets.push(...repeatable(value, ranges))
      text += `${name}: ${ranges.length === 0 ? value : masked(value, ranges)}\r\n`
    }
    return { head: text, target, secrets }
  }

  /** Adds the secrets of the body to `secrets`. */
  #requestBody({ head }: Exchange, draft: Draft | null, secrets: string[]): KeptBody | null {
    if (head.contentLength === 0 || draft === null) return null
    const length = head.contentLength < 0 ? null : head.contentLength
    const { request } = draft
    if (request === null) return { text: '', isBase64: false, length, cut: head.get('content-encoding') === null ? 'stream' : 'coded' }
    const isCoded = head.get('content-encoding') !== null
    return this.#kept(request, isCoded ? null : length, head.contentType, secrets)
  }

  #responseHead(response: OutgoingResponse | null, status: number, secrets: string[]): string {
    const { names, segments } = this.#secrets
    let text = `${status}\r\n`
    if (response === null) return text
    if (response.type !== null) text += `Content-Type: ${response.type}\r\n`
    const fields = response.fields ?? []
    for (let i = 0; i < fields.length; i += 2) {
      const value = fields[i + 1]!
      const ranges = fieldSecrets(fields[i]!, value, names, segments)
      if (ranges.length > 0) secrets.push(...repeatable(value, ranges))
      text += `${fields[i]!}: ${masked(value, ranges)}\r\n`
    }
    return text
  }

  #responseBody(draft: Draft, { method, outcome }: ExchangeRecord, secrets: string[]): KeptBody | null {
    const { response, responseText, responseBytes, responseLength } = draft
    if (method === 'HEAD' || draft.response!.content.kind === 'none') return null
    if (draft.responseIsCoded) return { text: '', isBase64: false, length: responseLength, cut: 'coded' }
    if (responseText !== null) {
      const ranges = bodySecrets(responseText, response!.type, this.#secrets.names)
      secrets.push(...repeatable(responseText, ranges))
      return {
        text: masked(responseText, ranges),
        isBase64: false,
        length: responseLength,
        cut: responseLength! > responseText.length ? 'large' : null,
      }
    }
    if (responseBytes === null) return null
    const body = this.#kept(responseBytes, responseLength, response!.type, secrets)
    return draft.responseIsStream && body.cut === null && outcome !== 'completed' ? { ...body, cut: 'stream' } : body
  }

  /** Adds the secrets of the body to `secrets`. @param length null if it is that of what has passed */
  #kept(kept: KeptBytes, length: number | null, contentType: string | null, secrets: string[]): KeptBody {
    const bytes = kept.bytes()
    const cut = kept.passed > bytes.length ? 'large' : length !== null && length > kept.passed ? 'stream' : null
    length ??= kept.passed
    // The end of a body that is cut may be a part of a character.
    const whole = cut === null ? bytes : bytes.subarray(0, lastCharacterEnd(bytes))
    // Text in another encoding has the same names.
    const isText = isUtf8(whole)
    const text = isText ? whole.toString('utf8') : bytes.toString('latin1')
    const ranges = bodySecrets(text, contentType, this.#secrets.names)
    if (ranges.length > 0) secrets.push(...repeatable(text, ranges))
    return { text: masked(text, ranges), isBase64: !isText, length, cut }
  }
}

/** @param body with its bytes as characters, where they are not text */
function bodyWithoutRepeated(body: KeptBody | null, secrets: readonly string[]): KeptBody | null {
  if (body === null) return null
  const text = withoutRepeated(body.text, secrets)
  return { ...body, text: body.isBase64 ? Buffer.from(text, 'latin1').toString('base64') : text }
}

const MOST_CAUSES = 5
const MOST_ERROR_CHARS = 4_000

/** Never throws: the members of what was thrown may do so. */
function keptError(thrown: unknown, secrets: readonly string[]): KeptError | null {
  if (thrown === null || thrown === undefined) return null
  const texts: string[] = []
  try {
    for (let one: unknown = thrown; one !== undefined && one !== null && texts.length < MOST_CAUSES; ) {
      texts.push(withoutRepeated(String(one).slice(0, MOST_ERROR_CHARS), secrets))
      one = isInstance(one, Error) ? one.cause : null
    }
  } catch {
    texts.push('an error that cannot be shown')
  }
  return { texts, thrown }
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

function peerOf({ connection }: Exchange): NonNullable<Entry['peer']> {
  const { address, isSecure } = connection.describePeer()
  return { address, isSecure }
}
