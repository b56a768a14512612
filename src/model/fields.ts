// Which schema a property of a model has: `@Field(t.uuid)`, and `static fields = fields(this, { id: t.uuid })` without decorators.
//
// Kept beside the classes, in a weak map. A field decorator does not see its class, so it speaks up when an instance is made;
// whoever is given a model to populate has an instance.

import { isStandardContext, LEGACY_DECORATORS } from '../base/decorator-context.ts'
import { WeirError } from '../base/errors.ts'
import { shown } from '../base/kind-of.ts'
import { invalid } from '../base/options.ts'
import { asSchema } from '../schema/foreign.ts'
import type { Schema } from '../schema/schema.ts'
import { type AnySchema, isSchema, type OutputOf, type StandardSchema } from '../schema/standard.ts'

type FieldMap = Map<string, Schema<unknown>>

/** What decorators said, by the class of the instance: an inherited property is declared again for the class that inherits it. */
const decorated = new WeakMap<object, FieldMap>()
/** What `static fields` said, by class. */
const tabled = new WeakMap<object, FieldMap>()
/** What `fieldsOf` found, by class, until something more is declared. */
let found = new WeakMap<object, FieldMap | null>()

/** Nothing more, where a property of type `V` can hold what a schema gives; else what no context has. */
type Holding<S extends AnySchema, V> =
  S extends StandardSchema<unknown, V> ? unknown : { readonly 'does not fit the property': OutputOf<S> }

/** Decorates a property that can hold what a schema gives, and perhaps more: null until something comes. */
export type FieldDecorator<S extends AnySchema> = <V>(
  target: undefined,
  context: ClassFieldDecoratorContext<object, V> & Holding<S, V>,
) => void

/**
 * Says what a property of a model is, where the value that it starts with does not: a UUID, a number in a range, one of a few texts.
 * Takes a `t` or any Standard Schema that answers at once. Where the property cannot hold what the schema gives, it does not compile.
 */
export function Field<S extends AnySchema>(schema: S): FieldDecorator<S> {
  const field = asSchema(schema) as Schema<unknown>
  return (_target, context) => {
    if (!isStandardContext(context)) throw new TypeError(`@Field: ${LEGACY_DECORATORS}`)
    const name = context.name
    if (typeof name !== 'string' || context.private || context.static)
      throw new TypeError('@Field stands on public properties of instances')
    context.addInitializer(function (this: object) {
      declare(decorated, this.constructor, name, field)
    })
  }
}

/** The same without decorators: `static fields = fields(this, { id: t.uuid })`. */
export function fields<C extends abstract new (...args: never[]) => object>(
  target: C,
  table: { readonly [K in keyof InstanceType<C>]?: StandardSchema<unknown, InstanceType<C>[K]> },
): Readonly<Record<string, AnySchema>> {
  const given = table as Readonly<Record<string, AnySchema>>
  for (const [name, schema] of Object.entries(given)) {
    if (!isSchema(schema)) throw invalid('fields()', `"${name}" is ${shown(schema)}, not a schema such as t.string`)
    declare(tabled, target, name, asSchema(schema) as Schema<unknown>)
  }
  return given
}

/**
 * The schemas of a model's properties, those of the classes that its own extends included; null when none was declared.
 * What a class says goes before what its base class says, and its own table before its decorators.
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

/** @throws WEIR_OPTION_INVALID for a table that was not given to `fields()`: nothing of what it says would be checked */
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
  throw new WeirError('WEIR_OPTION_INVALID', `${name}.fields is a table that is read only as static fields = fields(this, { ... })`)
}

/** Both maps, where `first` has the last word. */
function under(first: FieldMap | null, second: FieldMap | undefined): FieldMap | null {
  if (second === undefined) return first
  return first === null ? second : new Map([...second, ...first])
}

/** The last word counts: the constructor of a base class speaks before that of the class itself. Decorators speak for every instance. */
function declare(maps: WeakMap<object, FieldMap>, target: object, name: string, schema: Schema<unknown>): void {
  const known = maps.get(target)
  if (known?.get(name) === schema) return
  if (known === undefined) maps.set(target, new Map([[name, schema]]))
  else known.set(name, schema)
  found = new WeakMap()
}
