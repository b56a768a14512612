// What the type of gates promises: what would be a 500 at run time does not compile. Only tsc runs this file.

import type { NothingOrResponse } from '../../src/app/policies/policy.ts'
import { type Gate, HttpServer, type HttpSession, type Policy } from '../../src/index.ts'

type Expect<T extends true> = T
type Fits<T> = [T] extends [NothingOrResponse] ? true : false
type Refused<T> = [T] extends [NothingOrResponse] ? false : true

declare const lines: string[]
declare const row: Row
declare const asked: Response
declare const maybe: Promise<void> | undefined
declare const later: PromiseLike<Row | undefined>
declare const parsed: ReturnType<typeof JSON.parse>

interface Row {
  readonly id: number
}
class Point {
  readonly #x = 1
  get x(): number {
    return this.#x
  }
}

const server = new HttpServer()

// Gates that only do something, or decide later.
server
  .gate(() => {})
  .gate(async () => {})
  .gate(() => void lines.push('x'))
  .gate((session) => session.response.header('X-Seen', '1') && undefined)
  .gate(() => maybe)
  .gate(() => maybe?.then(() => asked))
  .gate((): never => {
    throw new Error('no')
  })
  .gate(({ principal, response }) => {
    if (principal === null) response.unauthorized()
  })
  .gate(({ principal, response }) => (principal === null ? response.unauthorized() : undefined))
  .gate(async ({ principal, response }) => (principal === null ? response.unauthorized() : undefined))

// What answers a request, as from a handler.
server
  .gate(() => 'no')
  .gate(() => ({ error: 'no', more: { n: 1 } }))
  .gate(async () => ({ error: 'no' }))
  .gate(() => [1, 2])
  .gate(() => new Point())
  .gate(() => row)
  .gate(() => later)
  .gate(() => asked)
  .gate(() => Buffer.from('no'))
  .gate(() => parsed)

// A verdict, a status, or the result of a call that was not meant to be returned.
// @ts-expect-error a number
server.gate(() => lines.push('x'))
// @ts-expect-error a promise of a number
server.gate(async () => lines.push('x'))
// @ts-expect-error a verdict
server.gate(({ principal }) => principal !== null)
// @ts-expect-error false, or a response
server.gate(({ principal, response }) => principal === null && response.unauthorized())
// @ts-expect-error a promise of a verdict
server.gate(async ({ principal }) => {
  await maybe
  return principal !== null
})
// @ts-expect-error null does not mean that the request may pass
server.gate(() => null)
// @ts-expect-error a principal is anything
server.gate(({ principal }) => principal)
// @ts-expect-error in a policy
server.use({ gate: () => lines.push('x') })
// @ts-expect-error in a declaration
server.group('/x', { use: [{ gate: () => lines.push('x') }] })
// @ts-expect-error in a variable
export const gate: Gate = () => 403

export class Wrong implements Policy {
  // @ts-expect-error in a class
  gate({ principal }: HttpSession) {
    return principal !== null
  }
}

export type _types = [
  Expect<Fits<void>>,
  Expect<Fits<undefined | string>>,
  Expect<Fits<Promise<void> | Promise<Row>>>,
  Expect<Refused<boolean>>,
  Expect<Refused<number | undefined>>,
  Expect<Refused<Promise<null>>>,
  Expect<Refused<PromiseLike<Row | boolean>>>,
  Expect<Refused<unknown>>,
]
