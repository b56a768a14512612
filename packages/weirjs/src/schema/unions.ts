// Values of one of several kinds. If all members are objects with different literals under the same name, this tag decides.

import { WeirError } from '../base/errors.ts'
import { invalid } from '../base/options.ts'

import { EnumSchema, type Literal } from './choices.ts'
import { isPlainObject, ObjectSchema, readEntry } from './composite.ts'
import { asSchema } from './foreign.ts'
import type { JsonSchema } from './json-keywords.ts'
import type { JsonSchemaWriter, Side } from './json-schema.ts'
import { LazySchema } from './lazy.ts'
import { Mismatch } from './mismatch.ts'
import { countOf, type FormTexts, type Presence, REQUIRED, type ReadContext, type Reads, Schema, type SchemaPlace } from './schema.ts'
import type { AnySchema, InputOf, OutputOf } from './standard.ts'

/** The property that distinguishes the members of a union. */
interface Tag {
  readonly key: string
  /** Reads any of its values. */
  readonly schema: Schema<unknown>
  readonly members: ReadonlyMap<Literal, Schema<unknown>>
}

/**
 * A value of one of several kinds. Members are tried in the order of declaration, and the first that reads the value wins. Objects with a tag are
 * distinguished by the tag alone.
 */
export class UnionSchema<T, Input = unknown> extends Schema<T, Input> {
  /** @internal */
  readonly members: readonly Schema<unknown>[]
  #tag: Tag | null | undefined

  /** @internal */
  constructor(members: readonly Schema<unknown>[], presence: Presence = REQUIRED) {
    super(presence)
    this.members = members
  }

  /** The tag, or null if the members are tried in turn. Found when it is first needed, because members may be lazy. @internal */
  get tag(): Tag | null {
    if (this.#tag === undefined) this.#tag = tagOf(this.members)
    return this.#tag
  }

  override get readsItself(): boolean {
    return false
  }

  override get reads(): Reads {
    const all = this.members.map(({ reads }) => reads)
    return all.includes('texts') ? 'texts' : all.includes('text') ? 'text' : 'json'
  }

  override get isOptional(): boolean {
    return super.isOptional || (!super.hasDefault && this.#taker()?.isOptional === true)
  }

  override get hasDefault(): boolean {
    return super.hasDefault || (!super.isOptional && this.#taker()?.hasDefault === true)
  }

  override get isNullable(): boolean {
    return super.isNullable || this.members.some(({ isNullable }) => isNullable)
  }

  override get holdsSecret(): boolean {
    return super.holdsSecret || this.members.some(({ holdsSecret }) => holdsSecret)
  }

  override defaultValue(): T | undefined {
    return (super.hasDefault || super.isOptional ? super.defaultValue() : this.#taker()?.defaultValue()) as T | undefined
  }

  override absent(): T | Mismatch {
    const taker = super.hasDefault || super.isOptional ? undefined : this.#taker()
    return taker === undefined ? super.absent() : (taker.absent() as T | Mismatch)
  }

  override describe(): string {
    if (this.tag !== null) return `an object whose ${this.tag.key} is ${this.tag.schema.describe()}`
    const all = this.members.map((member) => member.describe())
    return all.length === 1 ? all[0]! : `${all.slice(0, -1).join(', ')} or ${all.at(-1)}`
  }

  override toJson(value: unknown): unknown {
    return this.members.find((member) => !(member.fromValue(value) instanceof Mismatch))?.toJson(value) ?? value
  }

  override unreadable(place: SchemaPlace): string | null {
    const reasons = this.members.map((member) => member.unreadable(place))
    return reasons.includes(null) ? null : (super.unreadable(place) ?? reasons[0]!)
  }

  /** The mismatch if no member fits: the mismatch of the member that was meant, if this is clear, otherwise what `otherwise` returns. @internal */
  closest(found: readonly Mismatch[], otherwise: () => Mismatch): Mismatch {
    // Skips members that describe another kind of value, such as a string where an object was sent.
    const near = found.filter((one) => one.all().some(({ path }) => path.length > 0))
    const least = Math.min(...near.map(missing))
    const closest = near.filter((one) => missing(one) === least)
    return closest.length === 1 ? this.restate(closest[0]!) : otherwise()
  }

  /** The member that the tag of `value` selects. @internal */
  tagged(tag: Tag, value: object): Schema<unknown> | Mismatch {
    const sent: unknown = Object.hasOwn(value, tag.key) ? (value as Record<string, unknown>)[tag.key] : undefined
    return this.#named(tag, tag.schema.fromValue(sent))
  }

  protected override requires(side: Side): boolean {
    return this.members.every((member) => member.isRequired(side))
  }

  protected override readText(text: string, context: ReadContext | undefined): unknown {
    return this.#first(
      (member) => member.fromText(text, context),
      () => this.textMismatch(text),
    )
  }

  protected override readTexts(texts: readonly string[], context: ReadContext | undefined, isList: boolean): unknown {
    return this.#first(
      (member) => member.fromTexts(texts, context, isList),
      () => (texts.length === 1 && !isList ? this.textMismatch(texts[0]!) : new Mismatch(this.expects(), countOf(texts))),
    )
  }

  protected override readForm(form: FormTexts, context: ReadContext | undefined): unknown {
    const { tag } = this
    if (tag !== null) {
      const sent = Object.hasOwn(form, tag.key) ? form[tag.key] : undefined
      const member = this.#named(tag, readEntry(tag.schema, sent, context))
      return member instanceof Mismatch ? member : this.#restate(member.fromForm(form, context))
    }
    return this.#first(
      (member) => member.fromForm(form, context),
      () => new Mismatch(this.expects(), 'a form'),
    )
  }

  protected override readValue(value: unknown, context: ReadContext | undefined): unknown {
    const { tag } = this
    if (tag !== null) {
      if (!isPlainObject(value)) return this.mismatch(value)
      const member = this.tagged(tag, value)
      return member instanceof Mismatch ? member : this.#restate(member.fromValue(value, context))
    }
    return this.#first(
      (member) => member.fromValue(value, context),
      () => this.mismatch(value),
      (member) => member instanceof ObjectSchema && isPlainObject(value) && member.lacksProperty(value),
    )
  }

  protected override readNull(context: ReadContext | undefined): unknown {
    if (this.presence.nullable) return null
    for (const member of this.members) {
      const read = member.fromValue(null, context)
      if (!(read instanceof Mismatch)) return read
    }
    return super.readNull(context)
  }

  protected override again(presence: Presence): UnionSchema<unknown> {
    return new UnionSchema(this.members, presence)
  }

  protected override keywords(writer: JsonSchemaWriter): JsonSchema {
    const members = this.members.map((member) => member.writeTo(writer))
    return this.tag === null ? { anyOf: members } : { oneOf: members }
  }

  /** The member that accepts an absent value. */
  #taker(): Schema<unknown> | undefined {
    return this.members.find((member) => !member.isRequired('input'))
  }

  /** @param cannotFit a quick check: the details of a mismatch matter only if no member fits */
  #first(
    read: (member: Schema<unknown>) => unknown,
    otherwise: () => Mismatch,
    cannotFit: (member: Schema<unknown>) => boolean = () => false,
  ): unknown {
    const found: unknown[] = []
    for (const member of this.members) {
      const value = cannotFit(member) ? member : read(member)
      if (!(value instanceof Mismatch || value === member)) return value
      found.push(value)
    }
    const mismatches = found.map((one, i) => (one instanceof Mismatch ? one : (read(this.members[i]!) as Mismatch)))
    return this.closest(mismatches, otherwise)
  }

  #named(tag: Tag, read: unknown): Schema<unknown> | Mismatch {
    if (!(read instanceof Mismatch)) return tag.members.get(read as Literal)!
    const found: Mismatch[] = []
    read.addTo(found, tag.key)
    return this.conceal(Mismatch.ofAll(found))
  }

  #restate(result: unknown): unknown {
    return result instanceof Mismatch ? this.restate(result) : result
  }
}

/** A value that one of `members` reads; they are tried in this order. @throws WEIR_OPTION_INVALID without members */
export function unionOf<const Members extends readonly [AnySchema, ...AnySchema[]]>(
  ...members: Members
): UnionSchema<OutputOf<Members[number]>, InputOf<Members[number]>> {
  if (Array.isArray(members[0])) throw invalid('t.union()', 'the members are arguments, not a list: t.union(t.int, t.bool)')
  if (members.length === 0) throw new WeirError('WEIR_OPTION_INVALID', 'a union needs at least one member')
  return new UnionSchema(members.map((member) => asSchema(member)))
}

/** How many direct properties of the value were not sent. */
function missing(mismatch: Mismatch): number {
  return mismatch.all().filter(({ path, actual }) => path.length === 1 && actual === undefined).length
}

/** Finds the first property that is a different literal in each member. */
function tagOf(members: readonly Schema<unknown>[]): Tag | null {
  const variants = members.map((member) => variantsOf(member, []))
  if (!variants.every((objects) => objects !== null)) return null
  for (const key of variants[0]![0]!.properties.keys()) {
    const byTag = new Map<Literal, Schema<unknown>>()
    const texts = new Set<string>()
    let isSecret = false
    const isTag = variants.every((objects, i) =>
      objects.every(({ properties }) => {
        const schema = properties.get(key)
        if (!(schema instanceof EnumSchema) || !schema.isRequired('input') || schema.isNullable) return false
        isSecret ||= schema.holdsSecret
        return [...schema.members].every((literal) => {
          byTag.set(literal, members[i]!)
          return texts.size < texts.add(String(literal)).size
        })
      }),
    )
    if (isTag) return { key, schema: new EnumSchema(new Set(byTag.keys()), { ...REQUIRED, secret: isSecret }), members: byTag }
  }
  return null
}

/** The objects that `schema` may describe, or null if it may describe something else. */
function variantsOf(schema: Schema<unknown>, seen: readonly Schema<unknown>[]): readonly ObjectSchema<unknown>[] | null {
  if (schema instanceof ObjectSchema) return [schema]
  if (seen.includes(schema)) return null
  if (schema instanceof LazySchema) return variantsOf(schema.target, [...seen, schema])
  if (!(schema instanceof UnionSchema)) return null
  const variants = schema.members.map((member) => variantsOf(member, [...seen, schema]))
  return variants.every((objects) => objects !== null) ? variants.flat() : null
}
