// A request in the form of the Fetch API, whose parts are created when they are needed.
//
// It is a native Request, created with its method, URL and fields, because `fetch(web)` and `new Request(web)` read the internal state of a
// native Request, not its getters. See decisions/017. The rest is lazy: the signal is created when it is read, and the body is claimed when
// its stream is read.

import { WeirError } from '../../base/errors.ts'
import type { Head } from '../../wire/head/head.ts'

import type { RequestBody } from '../body/body.ts'
import { WebBody } from './web-body.ts'

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
  clone(): Request
}

type LazyClass = new (url: string, init: RequestInit, source: Signalled) => Native

/** Defined for the first request, because reading the global `Request` loads all of Node's fetch. */
let lazyClass: LazyClass | null = null

export class WebRequest {
  readonly #lazy: Native
  readonly #body: WebBody | null

  /**
   * @param origin scheme and host that the client requested
   * @param body null if there is none
   * @throws WEIR_HOST_SYNTAX, WEIR_METHOD_NOT_IMPLEMENTED, RequestExpiredError
   */
  constructor(head: Head, origin: string, body: RequestBody | null, source: Signalled) {
    const url = urlOf(head, origin)
    const { method, contentLength } = head
    if (/^(?:TRACE|TRACK|CONNECT)$/i.test(method)) throw new WeirError('WEIR_METHOD_NOT_IMPLEMENTED', 'fetch has no such method')
    const mayHaveBody = method !== 'GET' && method !== 'HEAD'
    if (mayHaveBody) body?.checkAlive('toWeb()')
    this.#body = body === null || contentLength === 0 || !mayHaveBody ? null : new WebBody(body)
    lazyClass ??= defineClass()
    // `duplex` is in the Fetch standard and in Node, but not in the types.
    const init = this.#body === null ? { method } : { method, body: this.#body.stream, duplex: 'half' }
    this.#lazy = new lazyClass(url, init as RequestInit, source)
    const leftOut = body?.isDecoded === true ? OF_THE_BYTES : mayHaveBody || contentLength === 0 ? null : /^content-length$/i
    const { headers } = this.#lazy
    for (const [name, value] of head.entries())
      if (!OF_THE_CONNECTION.test(name) && leftOut?.test(name) !== true) headers.append(name, value)
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

function urlOf({ url }: Head, origin: string): string {
  const whole = `${origin}${url === '*' ? '/' : url}`
  if (!URL.canParse(whole)) throw new WeirError('WEIR_HOST_SYNTAX')
  return whole
}

function defineClass(): LazyClass {
  const NativeRequest = globalThis.Request as unknown as new (url: string, init: RequestInit) => Native
  // It has the name of its parent class, because logs show that name.
  return class Request extends NativeRequest {
    readonly #source: Signalled

    constructor(url: string, init: RequestInit, source: Signalled) {
      super(url, init)
      this.#source = source
    }

    override get signal(): AbortSignal {
      return this.#source.signal
    }

    override clone(): globalThis.Request {
      return new globalThis.Request(super.clone(), { signal: this.signal })
    }
  }
}
