// The option `answers` of a declaration: its type and its check, and the type of what a handler may return.

import { type HttpError, WeirError } from '../../base/errors.ts'
import { shown } from '../../base/kind-of.ts'
import { TypedBody } from '../../http/body/typed-body.ts'
import type { ByteSource } from '../../http/response/byte-source.ts'
import { BODILESS, DeclaredAnswers } from '../../http/response/declared-answers.ts'
import { type AnySchema, isSchema } from '../../schema/standard.ts'

/** What a handler may answer with, by status. */
export type Answers = { readonly [status: number]: AnswerOption }

/** The answer with one status: a schema for JSON, what `text`, `bytes` or `json` returns, or null for no body. */
type AnswerOption = AnySchema | TypedBody | null

/**
 * What a handler with the declaration `D` may return: anything, unless `D` declares an answer below 400. Then a value that fits an answer from 200
 * to 299, or a response with a declared status and a body that fits it; or a promise of one.
 */
export type ResultOf<D, R = unknown> = [D] extends [{ readonly answers: infer A }]
  ? [StatusIn<A, 2 | 3>] extends [never]
    ? R & SentAs<R>
    : [R] extends [ResultIn<A> | PromiseLike<ResultIn<A>>]
      ? R
      : Fitting<A, R>
  : R & SentAs<R>

/** The type that an `R` must have: only one kind of result, so that the compiler compares a wrong result with the kind that its author meant. */
type Fitting<A, R> = unknown extends R
  ? ResultIn<A> | PromiseLike<ResultIn<A>>
  : R extends PromiseLike<infer T>
    ? PromiseLike<unknown extends T ? ResultIn<A> : KindFor<A, T>>
    : KindFor<A, R>
type KindFor<A, R> = R extends { readonly '~status': unknown }
  ? ResponseIn<A>
  : // biome-ignore lint/suspicious/noConfusingVoidType: a function that returns something fits one that returns void
    [BodyIn<A>] extends [void]
    ? BodyIn<A> & undefined
    : BodyIn<A>

/** `unknown` if an `R` can be sent, or a promise of one; otherwise a sentence. */
type SentAs<R> = [Extract<Awaited<R>, Collection | HttpError>] extends [never]
  ? unknown
  : unknown extends Awaited<R> // any
    ? unknown
    : [Extract<Awaited<R>, Collection>] extends [never]
      ? 'an error is thrown, not returned: throw new HttpError(…)'
      : 'a Map or a Set has no JSON form: return Object.fromEntries(map), or [...set]'
type Collection = ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>

/** The statuses of `A` whose first digit is `Digit`. */
type StatusIn<A, Digit extends number> = { [S in keyof A & number]: `${S}` extends `${Digit}${string}` ? S : never }[keyof A & number]

type BodyIn<A> = BodyOf<A[StatusIn<A, 2>]>
type ResultIn<A> = BodyIn<A> | ResponseIn<A>

/** An `HttpResponse` whose status and body are in `A`. Only what it carries for the compiler counts. */
interface ResponseIn<A> {
  readonly '~status': keyof A & number
  readonly '~body': { readonly [S in keyof A & number]?: BodyOf<A[S]> } & { readonly any?: BodyOf<A[keyof A & number]> }
}

type BodyOf<Answer> = Answer extends null
  ? // biome-ignore lint/suspicious/noConfusingVoidType: a method that returns nothing returns void
    void
  : Answer extends AnySchema
    ? WrittenAs<Answer>
    : Answer extends { readonly output?: infer T }
      ? T extends Uint8Array
        ? BytesResult
        : T extends string
          ? string | ByteSource
          : Sendable<T>
      : never

/** The type of values that are sent with a schema. */
export type WrittenAs<S> = S extends {
  readonly '~standard': { readonly types?: { readonly input: infer I; readonly output: infer O } | undefined }
}
  ? // A `t` picks what is already its output; a schema of another library reads what it is given.
    Sendable<S extends { readonly hasDefault: boolean } ? O : I>
  : never

type BytesResult = Uint8Array | ArrayBuffer | ByteSource | Response

/** The type of values that can be sent as a `T`: lists may be read-only, and a time may already be text. */
type Sendable<T> = T extends string | number | boolean | bigint | null | undefined
  ? T
  : T extends Date
    ? Date | string
    : T extends object
      ? { readonly [K in keyof T]: Sendable<T[K]> }
      : T

/** For callers that no compiler has checked. @throws WEIR_ROUTE_DECLARATION */
export function checkAnswers(answers: unknown, where: string): void {
  const refuse: (why: string) => never = (why) => {
    throw new WeirError('WEIR_ROUTE_DECLARATION', `option "answers" of ${where} ${why}`)
  }
  if (typeof answers !== 'object' || answers === null || Array.isArray(answers) || isSchema(answers))
    refuse(`is ${shown(answers)}, not an object with answers by status, such as { 200: User }`)
  for (const [name, answer] of Object.entries(answers as object) as [string, unknown][]) {
    const status = Number(name)
    if (!(Number.isInteger(status) && status >= 200 && status <= 599))
      refuse(`has "${name}", which is not a status from 200 to 599: write one, as in { 200: schema }`)
    if (answer === null) continue
    if (BODILESS.has(status)) refuse(`has a body for status ${status}, which never has one: write null`)
    const isKnown = answer instanceof TypedBody ? ['json', 'text', 'bytes'].includes(answer.kind) : isSchema(answer)
    if (!isKnown) refuse(`has ${shown(answer)} for status ${status}, not a schema, what text() or bytes() returns, or null`)
  }
}

/** Null if nothing is declared. @param label of the route, for messages */
export function declaredAnswers(label: string, answers: Answers): DeclaredAnswers | null {
  const entries = Object.entries(answers).map(([status, answer]) => {
    return [Number(status), answer instanceof TypedBody && answer.schema !== null ? answer.schema : answer] as const
  })
  return entries.length === 0 ? null : new DeclaredAnswers(label, new Map(entries))
}
