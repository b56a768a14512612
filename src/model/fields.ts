// Which schema a property of a model has: `@Field(t.uuid)`, and `static fields = fields(this, { id: t.uuid })` without decorators.
//
// Kept beside the classes, in a weak map. A field decorator does not see its class, so it speaks up when an instance is made;
// whoever is given a model to populate has an instance.

import { asSchema } from '../schema/foreign.ts'
import type { Schema } from '../schema/schema.ts'
import type { AnySchema, OutputOf } from '../schema/standard.ts'

type FieldMap = Map<string, Schema<unknown>>

const byClass = new WeakMap<object, FieldMap>()

/**
 * Says what a property of a model is, where the value that it starts with does not: a UUID, a number in a range, one of a few texts.
 * Takes a `t` or any Standard Schema that answers at once.
 */
export function Field<S extends AnySchema>(
  schema: S,
): (target: undefined, context: ClassFieldDecoratorContext<object, OutputOf<S>>) => void {
  const field = asSchema(schema) as Schema<unknown>
  return (_target, context) => {
    const name = context.name
    if (typeof name !== 'string' || context.private || context.static)
      throw new TypeError('@Field stands on public properties of instances')
    context.addInitializer(function (this: object) {
      declare(this.constructor, name, field)
    })
  }
}

/** The same without decorators: `static fields = fields(this, { id: t.uuid })`. */
export function fields<C extends abstract new (...args: never[]) => object>(
  target: C,
  table: { readonly [K in keyof InstanceType<C>]?: AnySchema },
): Readonly<Record<string, AnySchema>> {
  const given = table as Readonly<Record<string, AnySchema>>
  for (const [name, schema] of Object.entries(given)) declare(target, name, asSchema(schema) as Schema<unknown>)
  return given
}

/** The schemas of a model's properties, those of the classes that its own extends included; null when none was declared. */
export function fieldsOf(model: object): ReadonlyMap<string, Schema<unknown>> | null {
  const prototype: unknown = Object.getPrototypeOf(model)
  if (prototype === Object.prototype || prototype === null) return null
  let found: FieldMap | null = null
  for (
    let one: unknown = (prototype as { constructor: unknown }).constructor;
    typeof one === 'function';
    one = Object.getPrototypeOf(one)
  ) {
    const own = byClass.get(one)
    if (own === undefined) continue
    if (found === null) found = own
    else found = new Map([...own, ...found])
  }
  return found
}

function declare(target: object, name: string, schema: Schema<unknown>): void {
  let known = byClass.get(target)
  if (known === undefined) {
    known = new Map()
    byClass.set(target, known)
  }
  if (!known.has(name)) known.set(name, schema)
}
