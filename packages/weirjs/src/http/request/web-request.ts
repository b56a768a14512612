// A request in the form of the Fetch API, whose parts are created when they are needed.
//
// It is a native Request, created with its method, URL and fields, because `fetch(web)` and `new Request(web)` read the internal state of a
// native Request, not its getters. See decisions/017. The rest is lazy: the signal is created when it is read, and the body is claimed when
// its stream is read.

import { WeirError } from '../../base/errors.ts'
import { hostName } from '../../base/host-name.ts'
import type { Head } from '../../wire/head/head.ts'

import type { RequestBody } from '../body/body.ts'
import { WebBody, type WholeBody } from './web-body.ts'

/** The source of the signal, which is created when it is read. */
interface Signalled {
  readonly signal: AbortSignal
}

/** Fields that belong to the connection on which the request arrived. Most of them would make a fetch fail. */
const OF_THE_CONNECTION = /^(?:connection|expect|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade)$/i

/** Fields that describe the bytes as they were received. */
const OF_THE_BYTES = /^content-(?:length|encoding)$/i

/** A native Request. Node's types declare fields instead of its accessors and methods. */
interface Native {
  get headers(): Headers
  get signal(): AbortSignal
  get bodyUsed(): boolean
  text(): Promise<string>
  json(): Promise<unknown>
  arrayBuffer(): Promise<ArrayBuffer>
  clone(): Request
}

type LazyClass = new (url: string, init: RequestInit | undefined, source: Signalled, body: WebBody | null) => Native

/** Defined for the first request, because reading the global `Request` loads all of Node's fetch. */
let lazyClass: LazyClass | null = null

export class WebRequest {
  readonly #lazy: Native
  readonly #body: WebBody | null

  /**
   * @param url absolute, as `webUrl` returns it
   * @param body null if there is none
   * @throws WEIR_METHOD_NOT_IMPLEMENTED, RequestExpiredError
   */
  constructor(head: Head, url: string, body: RequestBody | null, source: Signalled) {
    const { method, contentLength } = head
    checkWebMethod(method)
    const mayHaveBody = method !== 'GET' && method !== 'HEAD'
    if (mayHaveBody) body?.checkAlive('toWeb()')
    this.#body = body === null || contentLength === 0 || !mayHaveBody ? null : new WebBody(body)
    lazyClass ??= defineClass()
    // `duplex` is in the Fetch standard and in Node, but not in the types. Reading an init costs as much as the rest of a GET.
    const init = this.#body !== null ? { method, body: this.#body.stream, duplex: 'half' } : method === 'GET' ? undefined : { method }
    this.#lazy = new lazyClass(url, init as RequestInit | undefined, source, this.#body)
    const { headers } = this.#lazy
    for (const [name, value] of head.entries()) if (!isLeftOut(name, head, body)) headers.append(name, value)
  }

  get request(): Request {
    return this.#lazy as unknown as Request
  }

  /** The request is about to expire: copies the body unless it has been read. */
  keep(): void {
    this.#body?.keep()
  }

  /**
   * Aborts the internal signal of the native Request, to which `fetch(web)` and `new Request(web)` listen; code that has read `signal` is
   * notified separately. The internal signal could follow another one, but that would cost more than the rest of the request. If a handler
   * has broken the signal, no listener is called, and nothing else happens.
   */
  abort(reason: Error): void {
    try {
      const inside = Reflect.get(Object.getPrototypeOf(lazyClass!.prototype), 'signal', this.#lazy) as AbortSignal
      Object.defineProperties(inside, { aborted: { value: true }, reason: { value: reason } })
      inside.dispatchEvent(new Event('abort'))
    } catch {}
  }
}

/** @throws WEIR_METHOD_NOT_IMPLEMENTED */
export function checkWebMethod(method: string): void {
  if (/^(?:TRACE|TRACK|CONNECT)$/i.test(method)) throw new WeirError('WEIR_METHOD_NOT_IMPLEMENTED', 'fetch has no such method')
}

/** Whether a Web request does not have a field that the client sent. */
export function isLeftOut(name: string, { method, contentLength }: Head, body: RequestBody | null): boolean {
  if (OF_THE_CONNECTION.test(name)) return true
  if (body?.isDecoded === true) return OF_THE_BYTES.test(name)
  return contentLength !== 0 && (method === 'GET' || method === 'HEAD') && /^content-length$/i.test(name)
}

/** A host that the URL parser leaves unchanged: names, none of which begins with a digit, or an IPv4 address; then perhaps a port. */
const PLAIN_ORIGIN =
  /^https?:\/\/(?:[a-z][a-z\d-]*(?:\.[a-z][a-z\d-]*)*|(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3})(?::(?:[1-9]\d{3}|[1-5]\d{4}))?$/
/** Path and query that the URL parser leaves unchanged. The head reader has refused dot segments. */
const PLAIN_TARGET = /^\/[\w\-.~!$&()*+,;=:@/%]*(?:\?[\w\-.~!$&()*+,;=:@/?%]*)?$/
/** Successive requests mostly have the same origin. */
let lastPlainOrigin = ''

/**
 * The URL of a Web request, as the URL parser would write it.
 * @param origin scheme and host that the client requested
 * @param url path and query
 * @throws WEIR_HOST_SYNTAX also for a host that a URL parser reads as another one; WEIR_TARGET_SYNTAX for a path that it reads differently from a router
 */
export function webUrl(origin: string, url: string): string {
  const whole = `${origin}${url === '*' ? '/' : url}`
  if (isPlainOrigin(origin) && PLAIN_TARGET.test(url)) return whole
  if (!URL.canParse(whole)) throw new WeirError('WEIR_HOST_SYNTAX')
  if (/^[^?]*\\/.test(url)) throw new WeirError('WEIR_TARGET_SYNTAX', 'URL parsers read a backslash as a slash')
  const { hostname, href } = new URL(whole)
  // `%61dmin.example` is another host than `admin.example` for routes, and 0x7f.1 another one than 127.0.0.1. An address of IPv6 stays the same one.
  if (!hostname.startsWith('[') && hostName(hostname) !== hostName(origin.replace(/^https?:\/\//, '')))
    throw new WeirError('WEIR_HOST_SYNTAX', 'URL parsers read it as another host')
  return href
}

function isPlainOrigin(origin: string): boolean {
  if (origin === lastPlainOrigin) return true
  if (!PLAIN_ORIGIN.test(origin) || origin.includes('xn--')) return false
  lastPlainOrigin = origin
  return true
}

function defineClass(): LazyClass {
  const NativeRequest = globalThis.Request as unknown as new (url: string, init: RequestInit | undefined) => Native
  // It has the name of its parent class, because logs show that name.
  return class Request extends NativeRequest {
    readonly #source: Signalled
    readonly #body: WebBody | null
    /** Whether the body has been read without its stream. */
    #isRead = false

    constructor(url: string, init: RequestInit | undefined, source: Signalled, body: WebBody | null) {
      super(url, init)
      this.#source = source
      this.#body = body
    }

    override get signal(): AbortSignal {
      return this.#source.signal
    }

    override get bodyUsed(): boolean {
      return this.#isRead || super.bodyUsed
    }

    // Reading the body without its stream costs a third.

    override async text(): Promise<string> {
      const body = await this.#gather()
      return body === null ? super.text() : body.text()
    }

    override async json(): Promise<unknown> {
      const body = await this.#gather()
      return body === null ? super.json() : JSON.parse(body.text())
    }

    override async arrayBuffer(): Promise<ArrayBuffer> {
      const body = await this.#gather()
      return body === null ? super.arrayBuffer() : body.buffer()
    }

    /** @returns null if it has to be read from its stream */
    #gather(): Promise<WholeBody> | null {
      if (this.#isRead || this.#body?.isUntouched !== true) return null
      this.#isRead = true
      return this.#body.gather()
    }

    override clone(): globalThis.Request {
      return new globalThis.Request(super.clone(), { signal: this.signal })
    }
  }
}
