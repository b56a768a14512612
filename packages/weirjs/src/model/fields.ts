// The schemas of a model's properties: `@Field(t.uuid)`, or `static fields = fields(this, { id: t.uuid })` without decorators.
//
// They are kept in weak maps, by class. A field decorator does not see its class, so it registers its schema when an instance is created.
// A model that is populated is an instance, so its schemas are known by then.

import { isStandardContext, LEGACY_DECORATORS } from '../base/decorator-context.ts'
import { WeirError } from '../base/errors.ts'
import { shown } from '../base/kind-of.ts'
import { invalid } from '../base/options.ts'
import { asSchema } from '../schema/foreign.ts'
import type { Schema } from '../schema/schema.ts'
import { type AnySchema, isSchema, type OutputOf, type StandardSchema } from '../schema/standard.ts'

type FieldMap = Map<string, Schema<unknown>>

/** Schemas from decorators, by the class of the instance: an inherited property is also declared for the class that inherits it. */
const decorated = new WeakMap<object, FieldMap>()
/** Schemas from `static fields`, by class. */
const tabled = new WeakMap<object, FieldMap>()
/** Results of `fieldsOf`, by class. Cleared when another schema is declared. */
let found = new WeakMap<object, FieldMap | null>()

/** `unknown` if a property of type `V` can hold the schema's output; otherwise a member that no context has, which does not compile. */
type Holding<S extends AnySchema, V> =
  S extends StandardSchema<unknown, V> ? unknown : { readonly 'does not fit the property': OutputOf<S> }

/** Decorates a property that can hold the output of a schema. Its type may be wider, such as nullable. */
type FieldDecorator<S extends AnySchema> = <V>(target: undefined, context: ClassFieldDecoratorContext<object, V> & Holding<S, V>) => void

/**
 * Declares the schema of a model's property, when its initial value does not determine the type: a UUID, a number in a range, one of several strings.
 * Accepts any schema from `t` and any synchronous Standard Schema. It does not compile if the property cannot hold the schema's output.
 * @throws TypeError for private and static members, and with legacy (`experimentalDecorators`) decorators; WEIR_OPTION_INVALID for a schema
 * with a default, which is what the initial value of the property is for
 * @example
 * ```ts
 * class User {
 *   @Field(t.uuid) id = ''
 * }
 * server.mapPost('/users', (_, { request }) => request.bodyMap(new User()))
 * ```
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/models.md
 */
export function Field<S extends AnySchema>(schema: S): FieldDecorator<S> {
  const field = asSchema(schema) as Schema<unknown>
  return (_target, context) => {
    if (!isStandardContext(context)) throw new TypeError(`@Field: ${LEGACY_DECORATORS}`)
    const name = context.name
    if (typeof name !== 'string' || context.private || context.static)
      throw new TypeError('@Field can decorate only public instance properties')
    checkDefault('@Field', name, field)
    context.addInitializer(function (this: object) {
      declare(decorated, this.constructor, name, field)
    })
  }
}

/**
 * Declares schemas like `Field`, without decorators: `static fields = fields(this, { id: t.uuid })`.
 * @throws WEIR_OPTION_INVALID for what is not a schema, and for a schema with a default
 * @example
 * class User {
 *   static fields = fields(this, { id: t.uuid })
 *   id = ''
 * }
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/models.md
 */
export function fields<C extends abstract new (...args: never[]) => object>(
  target: C,
  table: { readonly [K in keyof InstanceType<C>]?: StandardSchema<unknown, InstanceType<C>[K]> },
): Readonly<Record<string, AnySchema>> {
  const given = table as Readonly<Record<string, AnySchema>>
  for (const [name, schema] of Object.entries(given)) {
    if (!isSchema(schema)) throw invalid('fields()', `"${name}" is ${shown(schema)}, not a schema such as t.string`)
    const field = asSchema(schema) as Schema<unknown>
    checkDefault('fields()', name, field)
    declare(tabled, target, name, field)
  }
  return given
}

/** A property that the body does not have keeps its initial value, and no schema runs. @throws WEIR_OPTION_INVALID */
function checkDefault(owner: string, name: string, { hasDefault }: Schema<unknown>): void {
  if (hasDefault)
    throw invalid(owner, `"${name}" has a default, which has no effect in a model: give the property an initial value, as in ${name} = …`)
}

/**
 * The schemas of a model's properties, base classes included; null when none was declared. A class takes precedence over its base
 * class, and its table over its decorators.
 */
export function fieldsOf(model: object): ReadonlyMap<string, Schema<unknown>> | null {
  const prototype: unknown = Object.getPrototypeOf(model)
  if (prototype === Object.prototype || prototype === null) return null
  const Class: unknown = (prototype as { constructor: unknown }).constructor
  if (typeof Class !== 'function') return null
  let fields = found.get(Class)
  if (fields === undefined) {
    fields = collectFields(Class)
    found.set(Class, fields)
  }
  return fields
}

/** @throws WEIR_OPTION_INVALID for a table that was not passed to `fields()`: its schemas would have no effect */
function collectFields(Class: object): FieldMap | null {
  checkTable(Class)
  let fields = under(tabled.get(Class) ?? null, decorated.get(Class))
  for (
    let base: unknown = Object.getPrototypeOf(Class);
    typeof base === 'function' && base !== Function.prototype;
    base = Object.getPrototypeOf(base)
  ) {
    checkTable(base)
    fields = under(fields, tabled.get(base))
  }
  return fields
}

function checkTable(Class: object): void {
  if (tabled.has(Class) || !Object.hasOwn(Class, 'fields')) return
  const { fields: table, name } = Class as { fields: unknown; name?: string }
  if (typeof table !== 'object' || table === null || !Object.values(table).some(isSchema)) return
  throw new WeirError('WEIR_OPTION_INVALID', `${name}.fields has no effect: write static fields = fields(this, { ... })`)
}

/** Merges both maps. `first` takes precedence. */
function under(first: FieldMap | null, second: FieldMap | undefined): FieldMap | null {
  if (second === undefined) return first
  return first === null ? second : new Map([...second, ...first])
}

/** The last declaration wins: a base class's constructor runs before the constructor of the class itself. Decorators declare with every instance. */
function declare(maps: WeakMap<object, FieldMap>, target: object, name: string, schema: Schema<unknown>): void {
  const known = maps.get(target)
  if (known?.get(name) === schema) return
  if (known === undefined) maps.set(target, new Map([[name, schema]]))
  else known.set(name, schema)
  found = new WeakMap()
}
