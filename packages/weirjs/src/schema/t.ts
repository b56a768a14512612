// `t`: with it, a host program describes a value once, for route and query parameters, model fields and generated documents.

import { EMAIL_FORMAT, URL_FORMAT } from './addresses.ts'
import { formatted } from './checked-text.ts'
import { BoolSchema, enumOf, literalOf } from './choices.ts'
import { arrayOf, objectOf } from './composite.ts'
import { DateSchema, LOCAL_DATE_TIME } from './dates.ts'
import { asSchema } from './foreign.ts'
import { lazyOf } from './lazy.ts'
import { BigIntSchema, NumberSchema } from './numbers.ts'
import { recordOf } from './records.ts'
import type { Schema } from './schema.ts'
import type { AnySchema, InputOf, OutputOf } from './standard.ts'
import { TextSchema, UUID_FORMAT } from './text.ts'
import { unionOf } from './unions.ts'

/**
 * Descriptions of values. Each is a Standard Schema, never changes, and has `.optional()`, `.nullable()`, `.default(value)`,
 * `.message(text)` and `.secret()`; some have `.min`, `.max`, `.length` and `.pattern`.
 *
 * Conversion is strict: anything that is not clearly such a value is refused, never guessed at.
 * @example
 * const User = t.object({ name: t.string.min(1), age: t.int.optional() })
 * server.mapPost('/users', { body: User }, ({ body }) => body.name)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/schemas.md
 */
export const t = Object.freeze({
  /** A string. `.min .max .length` count characters. */
  string: new TextSchema(),
  /** A whole number within ±(2^53 - 1). */
  int: new NumberSchema(true),
  /** A finite number, in the grammar of JSON. */
  number: new NumberSchema(false),
  /** A whole number of up to 1,000 digits. */
  bigint: new BigIntSchema(),
  /** True or false; in text also `1` or `0`. */
  bool: new BoolSchema(),
  /** A UUID, kept as sent. */
  uuid: formatted(UUID_FORMAT),
  /** A moment, as a Date: RFC 3339, or ISO 8601 without a zone, which is read as UTC. A date alone is midnight UTC. */
  dateTime: new DateSchema('date-time'),
  /** A day `YYYY-MM-DD`, as a Date at midnight UTC. */
  date: new DateSchema('date'),
  /** A date and time without a zone, kept as a string. */
  localDateTime: formatted(LOCAL_DATE_TIME),
  /** An email address, in the grammar of HTML's `<input type=email>`, at most 254 characters. */
  email: formatted(EMAIL_FORMAT),
  /** An absolute `http:` or `https:` URL without user name and password, at most 8,000 characters, kept as sent. */
  url: formatted(URL_FORMAT),
  /** One of these strings or numbers: `t.enum('up', 'down')`. */
  enum: enumOf,
  /** Exactly this string, number or boolean. */
  literal: literalOf,
  /** An array; in a query, all the values of one name. `.min .max .length` count elements. */
  array: arrayOf,
  /** An object with these properties; unknown ones are dropped, or refused if it is `.strict()`. */
  object: objectOf,
  /** An object with any property names, and values of one kind. `.keys(schema)` describes the names; `.min .max` count them. */
  record: recordOf,
  /** A value that one of these schemas reads, tried in this order. Objects with different literals under the same name are distinguished by them. */
  union: unionOf,
  /** The schema that a function returns, so that a shape can contain itself: `t.array(t.lazy(() => Comment))`. */
  lazy: lazyOf,
  /** A schema under a name, which generated documents use: `t.named('User', t.object({ … }))`. Modifiers keep the name. */
  named: namedAs,
})

/** What `t.named` returns: the same kind of schema with the same methods, unless it belongs to another library. */
type Named<S extends AnySchema> = S extends Schema<unknown> ? S : Schema<OutputOf<S>, InputOf<S>>

/** @throws WEIR_OPTION_INVALID for a name with anything but letters, digits, `.`, `_` and `-` */
function namedAs<S extends AnySchema>(name: string, schema: S): Named<S> {
  return asSchema(schema).withName(name) as AnySchema as Named<S>
}
