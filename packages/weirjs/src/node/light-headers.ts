// The Headers of a light Request: looked up in the head that weir has read, until something changes them, iterates over them or copies them.

import type { RequestHead } from '../http/application.ts'
import type { RequestBody } from '../http/body/body.ts'
import { isLeftOut } from '../http/request/web-request.ts'

/** Returns the native object that a light one stands for. */
export const NATIVE = Symbol('weir.native')

type LightClass = new (head: RequestHead, body: RequestBody | null, native: () => Headers) => object

let lightClass: LightClass | null = null

/** @param native returns the native Headers, which are used from the first time that they are needed */
export function lightHeaders(head: RequestHead, body: RequestBody | null, native: () => Headers): Headers {
  lightClass ??= defineLight()
  return new lightClass(head, body, native) as Headers
}

function defineLight(): LightClass {
  class LightHeaders {
    readonly #head: RequestHead
    readonly #body: RequestBody | null
    readonly #makeNative: () => Headers
    #native: Headers | null = null

    constructor(head: RequestHead, body: RequestBody | null, native: () => Headers) {
      this.#head = head
      this.#body = body
      this.#makeNative = native
    }

    [NATIVE](): Headers {
      this.#native ??= this.#makeNative()
      return this.#native
    }

    get(name: string): string | null {
      if (!this.#knows(name)) return this[NATIVE]().get(name)
      const lower = name.toLowerCase()
      return isLeftOut(lower, this.#head, this.#body) ? null : this.#head.get(lower)
    }

    has(name: string): boolean {
      return this.#knows(name) ? this.get(name) !== null : this[NATIVE]().has(name)
    }

    /** Whether the name is one that native code would not refuse, and there is no native object, whose fields may have been changed. */
    #knows(name: unknown): boolean {
      return this.#native === null && typeof name === 'string' && /^[\w-]+$/.test(name)
    }
  }
  completeLight(LightHeaders.prototype, Headers)
  return LightHeaders
}

/** Makes a prototype inherit from the prototype of a native class, whose other members it passes on to the native object. */
export function completeLight(prototype: { [NATIVE](): object }, Native: { readonly name: string; readonly prototype: object }): void {
  for (const name of Reflect.ownKeys(Native.prototype)) {
    if (Object.hasOwn(prototype, name)) continue
    const { get, value } = Object.getOwnPropertyDescriptor(Native.prototype, name)!
    if (get !== undefined) {
      Object.defineProperty(prototype, name, {
        get(this: typeof prototype) {
          return get.call(this[NATIVE]())
        },
        enumerable: true,
        configurable: true,
      })
    } else if (typeof value === 'function') {
      const method = function (this: typeof prototype, ...args: unknown[]): unknown {
        return Reflect.apply(value, this[NATIVE](), args)
      }
      Object.defineProperty(prototype, name, { value: method, writable: true, configurable: true })
    }
  }
  Object.defineProperty(prototype, 'constructor', { value: Native, writable: true, configurable: true })
  Object.setPrototypeOf(prototype, Native.prototype)
}
