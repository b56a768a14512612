// A response as the engine works with it. A handler builds it through `HttpResponse`. Everything is checked when it is set, so that
// nothing can go wrong once bytes are on the wire.
//
// Handlers never hold this object: whatever they do to their `HttpResponse` (replace methods, freeze it, change its prototype) has no
// effect here.

import { AsyncResource } from 'node:async_hooks'
import { isFieldValue, isToken, LOWER, trimBlanks } from '../../base/ascii.ts'
import { unsendableField, WeirError } from '../../base/errors.ts'
import { kindOf, shown } from '../../base/kind-of.ts'
import { codedTag } from '../../formats/coded-tag.ts'
import { BYTES_TYPE } from '../../formats/media-type.ts'
import { jsonTextOf, type Serialize } from '../json-engine.ts'
import { type ByteSource, closeSource, onePiece, ownView, takeSource, UNREAD } from './byte-source.ts'
import type { CodedForms } from './coded-forms.ts'
import { dropField, dropRepresentation, FRAMING, firstValue, joinedValue, OF_THE_BYTES, textOf } from './field-list.ts'
import { checkedFileOptions, type FileOptions } from './file-options.ts'
import { PROBLEM_TYPE, type Problem } from './problem.ts'
import { contentOf, copyOf, lengthOf, NO_CONTENT, type PieceWatcher, type ResponseContent, type TakeOver } from './response-content.ts'
import { ResponseTrailers, type TrailerSource } from './trailers.ts'

const JSON_TYPE = 'application/json'
const TEXT_TYPE = 'text/plain; charset=utf-8'
const HTML_TYPE = 'text/html; charset=utf-8'

/** Marks a response whose body was not made from a value as JSON. */
export const NO_JSON = Symbol('no JSON')

/** Methods return the object, so that calls can be chained. The last body wins. `HttpResponse` documents the public ones. */
export class OutgoingResponse {
  readonly #serialize: Serialize
  // Other code may read these fields, but only the methods change them, except `isTaken`. They are not getters, because most are read for every
  // response.

  statusCode = 200
  reasonPhrase = ''
  type: string | null = null
  /** Name, value, name, value, without Content-Type. */
  fields: string[] | null = null
  /** Fields that follow the body; null if there are none. */
  trailers: ResponseTrailers | null = null
  content: ResponseContent = NO_CONTENT
  /** The content in other codings, as far as a module keeps them; null if none does. Dropped with the content. */
  codedForms: CodedForms | null = null
  /** Ends a response that lasts as long as its client stays, because the client has signed out. Null for others. Dropped with the content. */
  onSignOut: (() => void) | null = null
  /** The value of a body that was set with `json`; `NO_JSON` for other bodies. */
  jsonValue: unknown = NO_JSON
  /** Whether a handler has set a status or a body. Setting fields does not count. */
  isAnswered = false
  /** Whether the handler set `Connection: close`. */
  closes = false
  /** Content-Length that was declared for a stream; -1 when none was. */
  declaredLength = -1
  /** Whether it is being sent: from then on changes throw `WEIR_RESPONSE_SENT`. Whoever sends it sets this. */
  isTaken = false
  /** How many bodies have been set, one in the place of another. A redirect, and a response without a body, count as well. */
  bodies = 0

  /** Whether the handler has set the type itself, so that a new body does not change it. */
  #isTypeSet = false
  /** The value that is passed to `json` becomes the body later. */
  #holdsJson = false
  /** Whether type, length and validators describe a file. */
  #describesFile = false
  #isClaimed = false

  /** @param serialize used by `json`; default `JSON.stringify` */
  constructor(serialize: Serialize = JSON.stringify) {
    this.#serialize = serialize
  }

  /** @param greatest the greatest code that is accepted. Those above 599 have no meaning (RFC 9110 §15), but other servers send them */
  status(code: number, reason = '', greatest = 599): this {
    this.#change()
    if (!Number.isInteger(code) || code < 200 || code > greatest) throw new WeirError('WEIR_RESPONSE_STATUS', shown(code))
    if (reason !== '' && (typeof reason !== 'string' || !isFieldValue(reason)))
      throw new WeirError('WEIR_RESPONSE_HEADER_SYNTAX', 'the reason phrase is not one line of text: leave it out')
    this.statusCode = code
    this.reasonPhrase = reason
    this.isAnswered = true
    return this
  }

  header(name: string, value: string | number): this {
    return this.#setField(name, textOf(name, value), true)
  }

  appendHeader(name: string, value: string | number): this {
    return this.#setField(name, textOf(name, value), false)
  }

  removeHeader(name: string): this {
    this.#change()
    if (/^content-type$/i.test(name)) {
      this.type = null
      this.#isTypeSet = false
    }
    if (/^content-length$/i.test(name)) this.declaredLength = -1
    if (/^connection$/i.test(name)) this.closes = false
    dropField(this.fields, name)
    return this
  }

  getHeader(name: string): string | null {
    const wanted = name.toLowerCase()
    if (wanted === 'content-type') return this.type
    if (wanted === 'content-length') return this.declaredLength === -1 ? null : String(this.declaredLength)
    if (wanted === 'connection' && this.closes) return 'close'
    return firstValue(this.fields, wanted)
  }

  /** All values of a field whose value is a list, joined (RFC 9110 §5.3). Null when it is not set. */
  listHeader(name: string): string | null {
    return joinedValue(this.fields, name)
  }

  trailer(name: string, value: TrailerSource): this {
    this.ownTrailers().set(name, value)
    return this
  }

  followWith(fields: () => readonly string[]): void {
    this.ownTrailers().setUnannounced(fields)
  }

  ownTrailers(): ResponseTrailers {
    this.#change()
    return (this.trailers ??= new ResponseTrailers())
  }

  vary(...names: readonly string[]): this {
    const all = (this.listHeader('Vary') ?? '').split(',').flatMap((one) => trimBlanks(one) || [])
    const added = names.filter((name) => !all.some((one) => one === '*' || one.toLowerCase() === name.toLowerCase()))
    return added.length === 0 ? this : this.header('Vary', [...all, ...added].join(', '))
  }

  contentType(value: string): this {
    this.#change()
    if (typeof value !== 'string' || !isFieldValue(value)) throw unsendableField('Content-Type', value)
    this.type = value
    this.#isTypeSet = true
    return this
  }

  json(value: unknown): this {
    if (this.#holdsJson) this.#setContent(NO_CONTENT, undefined, JSON_TYPE)
    else this.#setContent({ kind: 'text', text: jsonTextOf(value, this.#serialize) }, undefined, JSON_TYPE)
    this.jsonValue = value
    return this
  }

  text(text: string): this {
    return this.#setContent(textContent(text), undefined, TEXT_TYPE)
  }

  html(html: string): this {
    return this.#setContent(textContent(html), undefined, HTML_TYPE)
  }

  body(bytes: Uint8Array, type?: string): this {
    if (!(bytes instanceof Uint8Array)) throw unsendable(bytes, 'bytes: for text, write response.text(…)')
    return this.#setContent({ kind: 'bytes', bytes: ownView(bytes) }, type, BYTES_TYPE)
  }

  stream(source: ByteSource, type?: string): this {
    if (typeof source !== 'object' || source === null || !(Symbol.asyncIterator in source)) throw unsendable(source, 'a stream')
    return this.#setContent({ kind: 'stream', ...takeSource(source) }, type, BYTES_TYPE)
  }

  file(path: string, options?: FileOptions): this {
    if (typeof path !== 'string') throw unsendable(path, 'a path')
    return this.#setContent({ kind: 'file', file: { path, options: checkedFileOptions(options) } }, undefined, null)
  }

  encodeAs(coding: string, encoded: Uint8Array | ByteSource | null): this {
    const old = this.content
    this.header('Content-Encoding', coding)
    const etag = this.getHeader('ETag')
    if (etag !== null) this.header('ETag', codedTag(etag, coding))
    for (const name of OF_THE_BYTES) this.removeHeader(name)
    this.trailers?.dropDigests()
    this.jsonValue = NO_JSON
    this.codedForms = null
    this.content = encoded === null ? { kind: 'stream', ...takeSource(UNREAD) } : contentOf(encoded)
    if (encoded === null && old.kind === 'stream') closeSource(old)
    return this
  }

  /** @param forms of the content that is set now */
  keepCodedForms(forms: CodedForms): void {
    this.codedForms = forms
  }

  /** Sends the same content in another way, for example as bytes after a stream has been read. The fields that describe it stay. */
  deliver(body: Uint8Array | ByteSource): void {
    this.#change()
    this.#describesFile = false
    this.codedForms = null
    this.content = contentOf(body)
    if (body instanceof Uint8Array) this.declaredLength = -1
  }

  redirect(url: string, status = 302): this {
    if (!(status >= 300 && status <= 399))
      throw new WeirError('WEIR_RESPONSE_STATUS', `${shown(status)} is not the status of a redirect: write redirect(url, 302)`)
    // Control characters are never intended: `header` refuses them.
    const location = textOf('Location', url).replace(/[^\u0000-\u007e]|[ "<>\\^`{|}]/gu, (char) =>
      /[\ud800-\udfff]/.test(char) && char.length === 1 ? '%EF%BF%BD' : encodeURIComponent(char),
    )
    return this.header('Location', location).status(status).#setContent(NO_CONTENT, undefined, null)
  }

  upgrade(protocol: string, takeOver: TakeOver): this {
    if (typeof protocol !== 'string' || !isToken(protocol))
      throw new WeirError('WEIR_RESPONSE_HEADER_SYNTAX', `Upgrade: ${shown(protocol)} is not the name of a protocol`)
    if (typeof takeOver !== 'function') throw unsendable(takeOver, 'a function that takes the connection over')
    return this.#setContent({ kind: 'upgrade', protocol, takeOver, context: new AsyncResource('weir.upgrade') }, undefined, null)
  }

  noContent(content: ResponseContent = NO_CONTENT): this {
    return this.status(204).#setContent(content, undefined, null)
  }

  /** Sends a problem document (RFC 9457) with its status. */
  sendProblem(problem: Problem): this {
    this.status(problem.status)
    this.#isTypeSet = false
    this.bodies = 0 // what fails after all replaces what was to be sent
    return this.#setContent({ kind: 'text', text: JSON.stringify(problem), problem }, undefined, PROBLEM_TYPE)
  }

  #setContent(content: ResponseContent, type: string | undefined, fallbackType: string | null): this {
    this.#change()
    if (this.bodies === 0) this.bodies = 1
    else this.#countAnother()
    this.#replaceContent(content)
    if (type !== undefined) this.contentType(type)
    else if (!this.#isTypeSet) this.type = fallbackType
    this.isAnswered = true
    return this
  }

  /** A redirect may be given a note for people, which is no second response. */
  #countAnother(): void {
    const isNote = this.content === NO_CONTENT && this.statusCode >= 300 && this.statusCode < 400
    if (!isNote) this.bodies++
  }

  /** Closes a stream that will not be sent, because it may hold a file or a connection open. */
  #replaceContent(content: ResponseContent): void {
    const old = this.content
    this.content = content
    this.codedForms = null
    this.onSignOut = null
    this.jsonValue = NO_JSON
    if (this.#describesFile) this.#dropRepresentation()
    else if (old.kind === 'stream') this.declaredLength = -1
    if (old.kind !== 'stream') return
    if (content.kind !== 'stream') this.trailers = null // they were about the stream
    if (content.kind !== 'stream' || content.source !== old.source) closeSource(old)
  }

  #setField(name: string, value: string, replaces: boolean): this {
    this.#change()
    if (typeof name !== 'string' || !isToken(name) || !isFieldValue(value)) throw unsendableField(name, value)
    const letter = name.charCodeAt(0) | LOWER
    if (letter === 0x63 && /^content-type$/i.test(name)) return this.contentType(value)
    if (letter === 0x63 && /^content-length$/i.test(name)) return this.#declareLength(value)
    if (FRAMING.test(name)) {
      if (!/^connection$/i.test(name) || !/^(?:close|keep-alive)$/i.test(value)) {
        throw new WeirError('WEIR_RESPONSE_HEADER_SYNTAX', `${name} is set by the server: leave it out`)
      }
      this.closes = /^close$/i.test(value)
      return this
    }
    if (replaces) dropField(this.fields, name)
    this.fields ??= []
    this.fields.push(name, value)
    return this
  }

  /** Declares the length of a streamed body. Other bodies have a known length. */
  #declareLength(value: string): this {
    if (!/^\d{1,15}$/.test(value)) throw new WeirError('WEIR_RESPONSE_HEADER_SYNTAX', 'Content-Length is not a number of bytes')
    this.declaredLength = Number(value)
    return this
  }

  #change(): void {
    if (this.isTaken) throw new WeirError('WEIR_RESPONSE_SENT')
  }

  /**
   * Prepares for being sent. With trailers that have to be waited for, every body is sent as a stream, which they follow.
   * @param areSent whether the response has a body, and its client can receive trailers
   */
  settleTrailers(areSent: boolean): void {
    const trailers = this.trailers
    const content = this.content
    if (!areSent || trailers === null || trailers.isEmpty || content.kind === 'upgrade' || content.kind === 'file') {
      this.trailers = null
      return
    }
    if (trailers.areAnnounced) (this.fields ??= []).push('Trailer', trailers.names)
    if (content.kind === 'stream') return
    this.declaredLength = lengthOf(content)
    if (!trailers.areKnown) this.content = { kind: 'stream', ...takeSource(onePiece(copyOf(content))) }
  }

  /** Reads a streamed body through another source, which closes the first. */
  replaceSource(replace: (source: ByteSource) => ByteSource): void {
    if (this.content.kind === 'stream') this.content = { ...this.content, source: replace(this.content.source) }
  }

  /** Shows the pieces of a streamed body to `watcher` too, as they are read, and the messages of another protocol. */
  watchStream(watcher: PieceWatcher): void {
    if (this.content.kind === 'stream' || this.content.kind === 'upgrade') this.content = { ...this.content, watcher }
  }

  /**
   * Prepares for a handler with declared answers: which part of a value is sent is decided when its status is known. Until then, the body is empty.
   * @param usualStatus the status if the handler sets none
   * @param isEmpty whether a response with that status has no body, so that it is complete
   */
  awaitAnswer(usualStatus: number, isEmpty: boolean): void {
    this.#holdsJson = true
    if (this.isAnswered) return
    this.statusCode = usualStatus
    this.isAnswered = isEmpty
  }

  /** The handler has settled. A value that is still held is not sent. */
  releaseAnswer(): void {
    this.#holdsJson = false
    if (this.jsonValue !== NO_JSON && this.content === NO_CONTENT) this.jsonValue = NO_JSON
  }

  /** Sends a value as JSON, whatever holds values back. @param type unless the handler has set one; null for `application/json` */
  sendJson(value: unknown, type: string | null): void {
    this.#setContent({ kind: 'text', text: jsonTextOf(value, this.#serialize) }, undefined, type ?? JSON_TYPE)
  }

  /** Sets Content-Type, unless the handler has. */
  suggestType(type: string): void {
    this.#change()
    if (!this.#isTypeSet) this.type = type
  }

  /** Sets the first fields of a response. They were checked once, for many responses. */
  begin(fields: readonly string[]): void {
    this.fields = [...fields]
  }

  /** Sets those fields that are not set yet. @param fields name, value, name, value */
  addMissing(fields: readonly string[]): void {
    for (let i = 0; i < fields.length; i += 2) if (this.getHeader(fields[i]!) === null) this.header(fields[i]!, fields[i + 1]!)
  }

  /** Marks type, length and validators as belonging to a file: they are removed when another body replaces it. */
  describesFile(): void {
    this.#describesFile = true
  }

  /** Reserves the response for one request: what was prepared for one client must not reach another. @throws WEIR_RESPONSE_SENT */
  claim(): void {
    if (this.#isClaimed || this.isTaken) throw new WeirError('WEIR_RESPONSE_SENT')
    this.#isClaimed = true
  }

  /** Sets the fields that offer the resource under another protocol (426). */
  offerUpgrade(protocol: string): void {
    dropField(this.fields, 'upgrade')
    dropField(this.fields, 'connection')
    this.fields ??= []
    this.fields.push('Upgrade', protocol, 'Connection', 'Upgrade')
  }

  /** Another response is sent instead. */
  discard(): void {
    if (this.isTaken) return
    this.#replaceContent(NO_CONTENT)
  }

  /** Prepares for an error's response: removes the body and the fields that describe it. Others (cookies, CORS) stay. */
  clearRepresentation(): void {
    this.#replaceContent(NO_CONTENT)
    this.#dropRepresentation()
    this.#holdsJson = false
    this.reasonPhrase = ''
    this.isAnswered = false
    this.bodies = 0
    this.statusCode = 200
  }

  #dropRepresentation(): void {
    this.trailers = null
    if (this.statusCode === 206) this.statusCode = 200
    this.#describesFile = false
    this.type = null
    this.#isTypeSet = false
    this.declaredLength = -1
    dropRepresentation(this.fields)
  }
}

/** For callers in plain JavaScript: finds what cannot be sent before the response is on the wire. */
function textContent(text: string): ResponseContent {
  if (typeof text !== 'string') throw unsendable(text, 'text')
  return { kind: 'text', text }
}

function unsendable(value: unknown, wanted: string): WeirError {
  return new WeirError('WEIR_RESULT_UNSENDABLE', `${kindOf(value)} is not ${wanted}`)
}
