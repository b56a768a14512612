// The Request that a mounted fetch function receives.
//
// Creating a native Request costs more than most handlers do. On Node 20 and 22, whose Request keeps its internal state in properties with symbols,
// the mounted function receives a light object instead: it inherits from Request.prototype, answers what it can from the request that weir has read,
// and creates the native Request when something needs it, such as `new Request(request)` or `fetch(request)`, which read those symbols. On Node 24,
// the state is in private fields, which no other object can have: there, the mounted function receives a native Request. No global is replaced.

import type { RequestBody } from '../http/body/body.ts'
import { type Exchange, exchangeOf } from '../http/exchange.ts'
import { bodyOf, cookieUse, webRequestOf } from '../http/request/request.ts'
import { type WholeBody, wholeBody } from '../http/request/web-body.ts'
import { checkWebMethod, webUrl } from '../http/request/web-request.ts'
import type { HttpSession } from '../http/session.ts'

import { completeLight, lightHeaders, NATIVE } from './light-headers.ts'
import { withoutSegments } from './mounted-url.ts'

type LightClass = new (exchange: Exchange, url: string) => object

/** Null if native code does not accept a light object as a Request. Undefined: not yet known. */
let lightClass: LightClass | null | undefined

/**
 * @param prefixSegments how many segments of the path its URL leaves out
 * @throws WEIR_HOST_SYNTAX, WEIR_TARGET_SYNTAX, WEIR_METHOD_NOT_IMPLEMENTED
 */
export function guestRequest(session: HttpSession, prefixSegments: number): Request {
  const exchange = exchangeOf(session)
  const { url, method } = exchange.head
  const whole = webUrl(session.origin, prefixSegments === 0 ? url : withoutSegments(url, prefixSegments))
  if (lightClass === undefined) lightClass = lightRequestClass()
  if (lightClass === null) return webRequestOf(exchange.request, whole)
  checkWebMethod(method)
  cookieUse(exchange.request, true)
  return new lightClass(exchange, whole) as Request
}

/** Defined for the first request, because reading the global `Request` loads all of Node's fetch. */
function lightRequestClass(): LightClass | null {
  const symbols = Object.getOwnPropertySymbols(new Request('http://localhost/'))
  if (symbols.length === 0) return null
  const Light = defineLight(symbols)
  return isRequest(Light) ? Light : null
}

/** Whether native code takes a light object for the Request that it stands for. */
function isRequest(Light: LightClass): boolean {
  try {
    const probe = Object.create(Light.prototype) as Request
    const native = new Request('http://localhost/probe?x=y', { method: 'POST', headers: { probe: 'yes' }, body: 'probe' })
    Object.defineProperty(probe, NATIVE, { value: () => native })
    const copy = new Request(probe)
    return copy.url === native.url && copy.method === 'POST' && copy.headers.get('probe') === 'yes' && copy.body !== null && native.bodyUsed
  } catch {
    return false
  }
}

function defineLight(symbols: readonly symbol[]): LightClass {
  class LightRequest {
    readonly #exchange: Exchange
    readonly #url: string
    readonly #body: RequestBody | null
    #native: Request | null = null
    #headers: Headers | null = null
    /** Whether the body has been read without its stream. */
    #isRead = false

    constructor(exchange: Exchange, url: string) {
      this.#exchange = exchange
      this.#url = url
      const { method, contentLength } = exchange.head
      this.#body = contentLength === 0 || method === 'GET' || method === 'HEAD' ? null : bodyOf(exchange.request)
    }

    /** The native Request that it stands for. */
    [NATIVE](): Request {
      if (this.#native === null) {
        this.#native = webRequestOf(this.#exchange.request, this.#url)
        if (this.#isRead) void this.#native.body?.getReader() // it has been read: native code must not read it again
      }
      return this.#native
    }

    get method(): string {
      return this.#exchange.head.method
    }

    get url(): string {
      return this.#url
    }

    get headers(): Headers {
      this.#headers ??= this.#native?.headers ?? lightHeaders(this.#exchange.head, this.#body, () => this[NATIVE]().headers)
      return this.#headers
    }

    get signal(): AbortSignal {
      return this.#exchange.request.signal
    }

    get body(): unknown {
      return this.#body === null ? null : this[NATIVE]().body
    }

    get bodyUsed(): boolean {
      return this.#isRead || this.#native?.bodyUsed === true
    }

    async text(): Promise<string> {
      const body = await this.#gather()
      return body === null ? this[NATIVE]().text() : body.text()
    }

    async json(): Promise<unknown> {
      const body = await this.#gather()
      return body === null ? this[NATIVE]().json() : JSON.parse(body.text())
    }

    async arrayBuffer(): Promise<ArrayBuffer> {
      const body = await this.#gather()
      return body === null ? this[NATIVE]().arrayBuffer() : body.buffer()
    }

    clone(): Request {
      return this[NATIVE]().clone()
    }

    /** Waits for all of the body. @returns null if the native Request has to read it */
    #gather(): Promise<WholeBody> | null {
      const body = this.#body
      if (body === null || this.#isRead || this.#native !== null || body.isExpired) return null
      this.#isRead = true
      return wholeBody(body)
    }
  }

  const { prototype } = LightRequest
  completeLight(prototype, Request)
  for (const symbol of symbols) {
    Object.defineProperty(prototype, symbol, {
      get(this: LightRequest) {
        return (this[NATIVE]() as unknown as Record<symbol, unknown>)[symbol]
      },
    })
  }
  return LightRequest
}
