// What a call returns: the status, the body that is declared for it, and the response.

import type { EventsBody, StreamBody } from '../../http/body/plain-body.ts'
import type { TypedBody } from '../../http/body/typed-body.ts'
import type { AnySchema, OutputOf } from '../../schema/standard.ts'
import { readEvents, type Seen, type ServerEvent } from './event-stream.ts'
import { type OutlinedEntry, type OutlinedPart, partOf } from './outline.ts'

/** The response to a call. `status` and `ok` tell which declared answer it is, and so the type of `body`. */
export interface Answer<S extends number = number, B = unknown> {
  readonly status: S
  /** Whether the status is from 200 to 299. */
  readonly ok: `${S}` extends `2${string}` ? true : false
  readonly body: B
  readonly headers: Headers
  /** Its body has been read, unless `body` is a stream. */
  readonly response: Response
}

/** The statuses of success, if none is declared. */
type Success = 200 | 201 | 202 | 203 | 204 | 205 | 206

/** The answers of a declaration: those that it declares, and any success if it declares none. */
export type AnswerOf<D> = D extends { readonly answers: infer A }
  ? { [S in keyof A & number]: Answer<S, Received<A[S]>> }[keyof A & number] | Undeclared<keyof A & number>
  : Undeclared<never>
type Undeclared<S extends number> = [Extract<`${S}`, `${2 | 3}${string}`>] extends [never] ? Answer<Success, unknown> : never

/** The body of an answer: null is declared for none. */
type Received<A> = A extends null
  ? undefined
  : A extends AnySchema
    ? Json<OutputOf<A>>
    : A extends EventsBody<infer E>
      ? AsyncGenerator<EventOf<E>, void, undefined>
      : A extends StreamBody
        ? ReadableStream<Uint8Array>
        : A extends TypedBody<infer T>
          ? T extends Uint8Array
            ? Uint8Array
            : Json<T>
          : never

type EventOf<E> = E extends null
  ? ServerEvent<string, string>
  : E extends AnySchema
    ? ServerEvent<string, Json<OutputOf<E>>>
    : { [K in keyof E & string]: ServerEvent<K, E[K] extends AnySchema ? Json<OutputOf<E[K]>> : never> }[keyof E & string]

/** The type of a value after it was sent as JSON. */
export type Json<T> = 0 extends 1 & T
  ? T // any
  : T extends string | number | boolean | null | undefined
    ? T
    : T extends bigint
      ? string
      : T extends { toJSON(...args: never[]): infer J }
        ? J
        : T extends object
          ? { [K in keyof T]: Json<T[K]> }
          : T

/** A response that the contract does not declare: another status, or content that is not JSON where JSON is declared. */
export class ClientError extends Error {
  declare readonly status: number
  declare readonly headers: Headers
  /** JSON, a string or bytes, as the content type states. */
  declare readonly body: unknown
  declare readonly response: Response

  /** @internal */
  constructor(route: string, answer: Answer) {
    super(`${route}: the contract has no answer ${answer.status}. ${Object(answer.body).detail ?? ''}`)
    Object.assign(this, { name: 'ClientError' }, answer)
  }
}

/** @throws ClientError @internal */
export async function answerOf({ method, path, declaration }: OutlinedEntry, response: Response): Promise<Answer> {
  const { status, ok, headers } = response
  const { answers = {} } = declaration as { readonly answers?: { readonly [status: number]: unknown } }
  const part = partOf(answers[status])
  const [body, isDeclared] = await bodyOf(response, part)
  const answer = { status, ok, body, headers, response } as Answer
  if (part === undefined ? ok && Object.keys(answers).every((one) => one >= '4') : isDeclared) return answer
  throw new ClientError(`${method} ${path}`, answer)
}

/** The body, and whether it has the declared kind. @param part null: no body is declared; undefined: nothing is */
async function bodyOf(response: Response, part: unknown): Promise<[body: unknown, isDeclared?: boolean]> {
  const type = response.headers.get('content-type') ?? ''
  const { kind, delivery } = Object(part) as OutlinedPart
  const { body } = response
  if (part === null) return [void body?.cancel().catch(() => {}), true]
  if (kind === undefined || delivery !== undefined) {
    if (body === null) return [undefined]
    if (delivery === 'stream') return [body, true]
    if (/^text\/event-stream\b/i.test(type)) return [readEvents(body, delivery === 'json-events', response as Seen), true]
  }
  const stated = /^[^;]*[/+]json\b/i.test(type) ? 'json' : /^text\//i.test(type) ? 'text' : 'bytes'
  const wanted = kind ?? stated
  if (wanted === 'bytes') return [new Uint8Array(await response.arrayBuffer()), true]
  const text = await response.text()
  if (wanted === 'text') return [text, delivery === undefined]
  // What a handler returns as a string is sent as text, whatever is declared.
  if (stated !== 'json') return [text, /^text\/plain\b/i.test(type)]
  try {
    return [JSON.parse(text), true]
  } catch {
    return [text]
  }
}
