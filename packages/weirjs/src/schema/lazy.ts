// Schemas that are resolved later, so that a shape can contain itself: a comment and its replies, a folder and its folders.

import { WeirError } from '../base/errors.ts'
import { kindOf } from '../base/kind-of.ts'

import { asSchema } from './foreign.ts'
import type { JsonSchema } from './json-keywords.ts'
import type { JsonSchemaWriter, Side } from './json-schema.ts'
import { Mismatch } from './mismatch.ts'
import { type FormTexts, type Presence, REQUIRED, type ReadContext, type Reads, Schema, type SchemaPlace } from './schema.ts'
import type { AnySchema, InputOf, OutputOf } from './standard.ts'

/** How deeply recursive schemas may be nested in one value. `maxDepth` usually refuses JSON before that. */
export const MAX_LEVELS = 200

const CONTAINS_ITSELF = new Mismatch('a value that does not contain itself', 'one that does')

/** Shared by all recursive schemas, because they may contain one another. Reading is synchronous, so this counts the levels of one value. */
let levels = 0

/** The schemas that remember results. They forget them together, when the outermost value has been read. */
const remembering = new Set<Descent>()
const NONE = Symbol()

/** Whether results are kept although no value is being read. */
let isRemembering = false

function forget(): void {
  for (const descent of remembering) descent.forget()
  remembering.clear()
}

/**
 * Runs `write`, which reads the parts of a value to find out which member of a union each is. A part contains the others below it, so that without
 * remembering results, the time would grow with the number of levels.
 */
function rememberingResults<T>(write: () => T): T {
  if (isRemembering || levels > 0) return write()
  isRemembering = true
  try {
    return write()
  } finally {
    isRemembering = false
    forget()
  }
}

/**
 * The state of one recursive schema while it reads: the result for each value so far. A union tries its members in turn, and each may read the
 * same value here again. Without remembering results, the time would double with every level, also where several recursive schemas alternate.
 */
export class Descent {
  readonly #results = new Map<object, unknown>()
  /**
   * The value that is being read without a note. The result of the outermost value is used only once, and even the longest list that fits into a body
   * is faster without notes. A number or a text has no parts: V8 would look through every note of the same one that was deleted before, so that a
   * list of ones would take quadratic time.
   */
  #unnoted: unknown = NONE

  /** Returns what `read` returns for `value`, or a mismatch if the value is nested too deeply or is already being read. */
  into(value: unknown, read: () => unknown): unknown {
    if (levels >= MAX_LEVELS) return new Mismatch(`at most ${MAX_LEVELS} levels`, 'more')
    const unnoted = this.#unnoted
    if (value === unnoted) return CONTAINS_ITSELF
    // A string may also become an object such as a Date, and each place needs its own.
    const isNoted = (levels > 0 || isRemembering) && typeof value === 'object' && value !== null
    if (!isNoted) this.#unnoted = value
    else if (this.#results.has(value)) return this.#results.get(value)
    else {
      this.#results.set(value, CONTAINS_ITSELF)
      remembering.add(this)
    }
    levels++
    try {
      const result = read()
      if (isNoted) this.#results.set(value, result)
      return result
    } finally {
      this.#unnoted = unnoted
      if (--levels === 0 && !isRemembering) forget()
    }
  }

  forget(): void {
    this.#results.clear()
  }
}

/** The schema that a function returns. The function is called when the schema is first needed. */
export class LazySchema<T, Input = unknown> extends Schema<T, Input> {
  readonly #resolve: () => AnySchema
  readonly #descent = new Descent()
  #target: Schema<unknown> | undefined
  /** The questions in progress. In a recursive schema, each question leads back to itself. */
  readonly #asked = new Set<string>()

  constructor(resolve: () => AnySchema, presence: Presence = REQUIRED) {
    super(presence)
    this.#resolve = resolve
  }

  /** The schema itself. @throws WEIR_OPTION_INVALID if the function does not return a schema @internal */
  get target(): Schema<unknown> {
    this.#target ??= asSchema(this.#resolve())
    return this.#target
  }

  override get readsItself(): boolean {
    return false
  }

  override get reads(): Reads {
    return this.#ask('reads', 'json', () => this.target.reads)
  }

  override get isOptional(): boolean {
    return super.isOptional || this.#ask('isOptional', false, () => this.target.isOptional)
  }

  override get hasDefault(): boolean {
    return super.hasDefault || this.#ask('hasDefault', false, () => this.target.hasDefault)
  }

  override get isNullable(): boolean {
    return super.isNullable || this.#ask('isNullable', false, () => this.target.isNullable)
  }

  override get holdsSecret(): boolean {
    return super.holdsSecret || this.#ask('holdsSecret', false, () => this.target.holdsSecret)
  }

  override defaultValue(): T | undefined {
    return super.hasDefault ? super.defaultValue() : (this.target.defaultValue() as T | undefined)
  }

  override absent(): T | Mismatch {
    if (super.hasDefault || super.isOptional) return super.absent()
    return this.#restate(this.#ask<unknown>('absent', super.absent(), () => this.target.absent())) as T | Mismatch
  }

  override describe(): string {
    return this.#ask('describe', 'a value of the same kind', () => this.target.describe())
  }

  override toJson(value: unknown): unknown {
    return rememberingResults(() => this.target.toJson(value))
  }

  override unreadable(place: SchemaPlace): string | null {
    return this.#ask('unreadable', super.unreadable(place), () => this.target.unreadable(place))
  }

  protected override requires(side: Side): boolean {
    return this.#ask('requires', true, () => this.target.isRequired(side))
  }

  protected override readText(text: string, context: ReadContext | undefined): unknown {
    return this.#into(text, () => this.target.fromText(text, context))
  }

  protected override readTexts(texts: readonly string[], context: ReadContext | undefined, isList: boolean): unknown {
    return this.#into(texts, () => this.target.fromTexts(texts, context, isList))
  }

  protected override readForm(form: FormTexts, context: ReadContext | undefined): unknown {
    return this.#into(form, () => this.target.fromForm(form, context))
  }

  protected override readValue(value: unknown, context: ReadContext | undefined): unknown {
    return this.#into(value, () => this.target.fromValue(value, context))
  }

  protected override readNull(context: ReadContext | undefined): unknown {
    return this.presence.nullable ? null : this.#into(null, () => this.target.fromValue(null, context))
  }

  protected override again(presence: Presence): LazySchema<unknown> {
    return new LazySchema(() => this.target, presence)
  }

  protected override keywords(writer: JsonSchemaWriter): JsonSchema {
    return writer.recur(this.target)
  }

  #into(value: unknown, read: () => unknown): unknown {
    return this.#restate(this.#descent.into(value, read))
  }

  #restate(result: unknown): unknown {
    return result instanceof Mismatch ? this.restate(result) : result
  }

  /** Asks the schema itself a question; returns `again` if that leads back to the same question. */
  #ask<A>(question: string, again: A, answer: () => A): A {
    if (this.#asked.has(question)) return again
    this.#asked.add(question)
    try {
      return answer()
    } finally {
      this.#asked.delete(question)
    }
  }
}

/** The schema that `resolve` returns, which may be declared later and may contain this one. */
export function lazyOf<S extends AnySchema>(resolve: () => S): LazySchema<OutputOf<S>, InputOf<S>> {
  if (typeof resolve !== 'function')
    throw new WeirError('WEIR_OPTION_INVALID', `t.lazy needs a function that returns a schema, not ${kindOf(resolve)}`)
  return new LazySchema<OutputOf<S>, InputOf<S>>(resolve)
}
