// Models, and what may be declared for their properties. Only tsc runs this file.

import { bodyMap, Field, fields, type HttpRequest, type MultipartFormData, t } from '../../src/index.ts'
import type { KeyPath } from '../../src/model/key-paths.ts'
import type { StandardSchema } from '../../src/modules/schema/index.ts'

class Address {
  city = ''
  zip = 0
}

class User {
  @Field(t.uuid) id = ''
  @Field(t.int.min(0)) age = 0
  // @ts-expect-error the property holds a string, the schema returns a number
  @Field(t.int) wrong = ''
  name = ''
  address = new Address()
  greet() {}
}

export class Plain {
  static fields = fields(this, { id: t.uuid })
  id = ''
}

export class Mistaken {
  // @ts-expect-error the property holds a string, the schema returns a number
  static fields = fields(this, { id: t.int })
  id = ''
}

export class Absent {
  static fields = fields(this, {
    id: t.uuid.nullable(),
    age: t.int.optional(),
    tags: t.array(t.string),
    when: t.date,
    kind: t.enum('a', 'b'),
  })
  id: string | null = null
  age?: number
  tags: string[] = []
  when = new Date(0)
  kind: 'a' | 'b' = 'a'
}

export class Misspelt {
  // @ts-expect-error no such property
  static fields = fields(this, { idd: t.uuid })
  id = ''
}

export class Starting {
  @Field(t.uuid) id: string | null = null
  @Field(t.int.optional()) age?: number
  @Field(t.enum('a', 'b')) kind: 'a' | 'b' | '' = ''
  @Field(t.array(t.string)) tags: readonly string[] = []
  // @ts-expect-error the schema may return null, which the property cannot hold
  @Field(t.uuid.nullable()) name = ''
  // @ts-expect-error the schema may return any string
  @Field(t.string) state: 'on' | 'off' = 'on'
}

const path: KeyPath<User> = 'address.city'
export const paths: KeyPath<User>[] = ['id', 'name', 'address', path]
// @ts-expect-error a method cannot be written
export const method: KeyPath<User> = 'greet'

interface Line {
  price: number
  tax: { rate: number } | null
  notes: readonly { text: string }[]
}
interface Order {
  lines: Line[]
  pairs?: [Line, Address]
  tags: string[]
}
export const elementPaths: KeyPath<Order>[] = [
  'lines',
  'lines.price',
  'lines.tax.rate',
  'lines.notes.text',
  'pairs.price',
  'pairs.city',
  'tags',
]
// @ts-expect-error no element has this property
export const noElementPath: KeyPath<Order> = 'lines.prise'
// @ts-expect-error a string has no parts
export const textPath: KeyPath<Order> = 'tags.length'
/** Recursive types end. */
type Json = string | number | null | Json[] | { [name: string]: Json }
interface Tree {
  name: string
  children: Tree[]
}
export const treePath: KeyPath<Tree> = 'children.children.name'
export const jsonPath: KeyPath<{ any: Json }> = 'any.x.y'

declare const request: HttpRequest
request.bodyMap(new User(), { includeProperties: ['name', 'address.zip'], excludeProperties: new Set(['id'] as const) })
// @ts-expect-error no such property
request.bodyMap(new User(), { includeProperties: ['nmae'] })
request.bodyMap({ a: 1 }, { includeProperties: null })
// @ts-expect-error a schema cannot be populated
request.bodyMap(t.object({ a: t.int }))
// @ts-expect-error a schema cannot be populated
request.bodyMapAnonymous(t.string)
declare const ofOtherLibrary: StandardSchema<unknown, User> & { parse(value: unknown): User }
// @ts-expect-error a schema cannot be populated
bodyMap(request, ofOtherLibrary)
export function readInto<T extends object>(model: T): boolean {
  return request.bodyMap(model) && bodyMap(request, model)
}
declare const anyObject: object
declare const record: Record<string, unknown>
declare const partial: Partial<User>
export const mapped = [anyObject, record, partial, { a: 1 } as { a?: number }].map((model) => request.bodyMap(model))
request.bodyMap(record)
request.bodyMap(partial, { excludeProperties: ['address.city'] })
request.bodyMapAnonymous({ a: 1 }, { settings: { zoneless: 'local', maxDepth: 3 } })

// In `dom`, fetch, Blob and Web Crypto do not accept memory that threads may share.
declare const form: MultipartFormData
export const unshared: Uint8Array<ArrayBuffer>[] = [request.bodyBytes, request.bodySpan, form.files[0]!.content]
