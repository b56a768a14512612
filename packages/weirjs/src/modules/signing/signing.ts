// `weirjs/signing`: links that work without logging in, until they expire. A signature in the query covers the method, the path, the rest of the
// query and the time until which the link is valid.

import { Buffer } from 'node:buffer'
import { createHmac, timingSafeEqual } from 'node:crypto'

import type { Policy } from '../../app/policies/policy.ts'
import { isToken } from '../../base/ascii.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import type { Duration } from '../../base/duration.ts'
import { WeirError } from '../../base/errors.ts'
import { kindOf, shown } from '../../base/kind-of.ts'
import { duration, forTests, readBy, text } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import { exchange } from '../kit/exchange.ts'
import { responseHandle } from '../kit/response.ts'

export interface SigningOptions {
  /**
   * Secret keys of at least 32 bytes each: bytes, or a text of at least 32 characters, such as `crypto.randomBytes(32).toString('base64')`. The first
   * one signs, all of them are accepted: to replace a key, put the new one in front, and remove the old one when its links have expired.
   */
  readonly keys: readonly (Uint8Array | string)[]
  /** For tests: the clock that determines the end of a new link. Links are checked by the clock of the server. Default: the system's clock. */
  readonly clock?: Clock
}

export interface SignOptions {
  /** How long the link works. In whole seconds, rounded up. */
  readonly expiresIn: Duration
  /** The method for which it works. A link for GET works for HEAD as well. Default `GET`. */
  readonly method?: string
}

/** Signs links, and checks them. Made by `signing`. */
export interface Signing {
  /**
   * Returns the path with a parameter `signature` at the end of its query.
   *
   * @param path of the route, with its query if it has one: `/receipts/7.pdf?size=a4`. Without the server's `basePath`: put `session.basePath` in front
   *   of the result where there is one
   * @throws WEIR_OPTION_INVALID for anything that is not a path, and for a query that has a `signature` already
   */
  sign(path: string, options: SignOptions): string
  /**
   * Returns a policy that lets only requests with a valid link pass, before their body is read. Others are refused with 403, and links that have
   * expired with 410. Responses without a Cache-Control get `private, no-cache`. The policy is called `signing`: on a group or a route, it
   * replaces the outer one.
   */
  required(): Policy
}

/** @internal */
export const SIGNING_RULES = rules<SigningOptions>('signing')({
  keys: readBy(keysOf),
  clock: forTests(),
})
/** @internal */
export const SIGN_RULES = rules<SignOptions>('sign')({
  expiresIn: duration({ leastNumber: 1_000 }),
  method: text('a method such as GET', isToken).or('GET'),
})

const LEAST_KEY_BYTES = 32
/** The version of the format, seconds since 1970, and 32 bytes. */
const SIGNATURE = /([?&])signature=1\.([1-9]\d{0,11})\.([\w-]{43})$/

/**
 * Returns an object that signs links and checks them. Anyone who has a link may use it as often as they like until it expires, and pass it on. The
 * server keeps nothing for a link, so a single link cannot be revoked.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function signing(options: SigningOptions): Signing {
  const { keys, clock: given } = SIGNING_RULES.read(options)
  const clock = (given as Clock | undefined) ?? systemClock
  return {
    sign(path, signOptions) {
      const { expiresIn, method } = SIGN_RULES.read(signOptions)
      const target = targetOf(path)
      const expires = Math.ceil((clock.wallTime() + expiresIn) / 1000)
      return `${target}${separatorAfter(target)}signature=1.${expires}.${macOf(keys[0]!, method, target, expires)}`
    },
    required(given?: unknown) {
      if (kindOf(given) === 'an HttpSession')
        throw invalid('signing().required', 'the function itself was added to a server or a route: call it, and add what it returns')
      return {
        name: 'signing',
        gate(session): void {
          const { method, url, clock: now } = exchange(session)
          const found = SIGNATURE.exec(url)
          const target = url.slice(0, found?.index)
          // With the other character, it would belong to the path, or to the value before it, and lead to what nobody has signed.
          if (found === null || found[1] !== separatorAfter(target))
            throw new WeirError('WEIR_SIGNATURE_INVALID', 'the link has no signature at its end, or one of another form')
          const expires = Number(found[2])
          const given = Buffer.from(found[3]!)
          const signed = method === 'HEAD' ? 'GET' : method
          if (!keys.some((key) => timingSafeEqual(Buffer.from(macOf(key, signed, target, expires)), given)))
            throw new WeirError('WEIR_SIGNATURE_INVALID', 'no key has signed this link for this method')
          if (now.wallTime() >= expires * 1000) throw new WeirError('WEIR_SIGNATURE_EXPIRED')
        },
        // A shared cache that keeps a response would send it to others after the link has expired.
        beforeSend(_session, response): void {
          const outgoing = responseHandle(response)
          if (outgoing.content.kind !== 'upgrade' && outgoing.getHeader('Cache-Control') === null)
            outgoing.header('Cache-Control', 'private, no-cache')
        },
        describe: () => ({
          refuses: [403, 410],
          parameters: [
            { name: 'signature', in: 'query', required: true, description: 'The last one of the query.', schema: { type: 'string' } },
          ],
        }),
      }
    },
  }
}

/** What stands between a target and one more parameter. */
function separatorAfter(target: string): string {
  return target.includes('?') ? '&' : '?'
}

/** No method and no target of a request has a line break. */
function macOf(key: Uint8Array, method: string, target: string, expires: number): string {
  return createHmac('sha256', key).update(`weir signing 1\n${method}\n${expires}\n${target}`).digest('base64url')
}

/** In the path, before the query. URL parsers resolve it: a name that a client has chosen would lead out of the path in front of it. */
const DOT_SEGMENT = /^[^?]*[/\\](?:\.|%2e){1,2}(?:[/\\?]|$)/i

/** The path as clients send it: what is not allowed in a URL is percent-encoded. @throws WEIR_OPTION_INVALID */
function targetOf(path: unknown): string {
  if (typeof path !== 'string' || !path.startsWith('/') || /^[/\\]{2}|[#\t\r\n]/.test(path))
    throw invalid('sign', `the path is ${shown(path)}, not one that begins with a single slash and has neither a fragment nor a line break`)
  if (DOT_SEGMENT.test(path))
    throw invalid(
      'sign',
      `the path is ${shown(path)}, with a dot segment: encode what is not yours, as in /files/\${encodeURIComponent(name)}`,
    )
  const { pathname, search, searchParams } = new URL(path, 'http://localhost')
  if (searchParams.has('signature')) throw invalid('sign', 'the query of the path has a "signature" already')
  return pathname + (search === '?' ? '' : search)
}

/** @throws WEIR_OPTION_INVALID, without the key */
function keysOf(keys: unknown, owner: string): readonly Uint8Array[] {
  if (!Array.isArray(keys)) throw invalid(owner, `keys is ${kindOf(keys)}, not a list`)
  if (keys.length === 0) throw invalid(owner, 'keys is empty: give at least one')
  return keys.map((key: unknown, i) => {
    const bytes = typeof key === 'string' ? Buffer.from(key) : key instanceof Uint8Array ? Buffer.from(key) : null
    if (bytes === null || bytes.length < LEAST_KEY_BYTES)
      throw invalid(
        owner,
        `keys[${i}] is ${bytes === null ? kindOf(key) : `${bytes.length} bytes`}, not at least ${LEAST_KEY_BYTES} random ones: crypto.randomBytes(32).toString('base64')`,
      )
    return bytes
  })
}
