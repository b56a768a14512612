// Parameters that are neither in the path nor in the query: from a header field, or from a cookie.

import { isToken } from '../../base/ascii.ts'
import { WeirError } from '../../base/errors.ts'
import { shown } from '../../base/kind-of.ts'
import { type AnySchema, type InputOf, isSchema, type OutputOf } from '../../schema/standard.ts'

/** A parameter of type `T` from a header field or a cookie. Made by `header` and `cookie`. */
export class ParameterSource<T = unknown, Input = unknown, Source extends 'header' | 'cookie' = 'header' | 'cookie'> {
  /** Never set: it only carries the type. */
  declare readonly output?: T
  /** Never set: it only carries the type of what clients send. */
  declare readonly input?: Input
  readonly source: Source
  /** Name of the field, in lower case, or of the cookie. */
  readonly name: string
  readonly schema: AnySchema

  /** @internal */
  constructor(source: Source, name: string, schema: AnySchema) {
    if (typeof name !== 'string' || !isToken(name))
      throw new WeirError(
        'WEIR_ROUTE_DECLARATION',
        `${source}(): ${shown(name)} is not the name of a ${source}, such as "${source === 'header' ? 'x-tenant' : 'theme'}"`,
      )
    if (!isSchema(schema))
      throw new WeirError(
        'WEIR_ROUTE_DECLARATION',
        `${source}(${JSON.stringify(name)}) needs a schema, such as t.string, not ${shown(schema)}`,
      )
    this.source = source
    this.name = source === 'header' ? name.toLowerCase() : name
    this.schema = schema
    Object.freeze(this)
  }
}

/**
 * A parameter from a header field: `{ tenant: header('x-tenant', t.uuid) }`. The case of the name does not matter. A field that occurs several
 * times is read as one text, joined with `, `.
 * @throws WEIR_ROUTE_DECLARATION for an invalid name, and for what is not a schema
 * @example
 * server.mapGet('/', { tenant: header('x-tenant', t.uuid) }, ({ tenant }) => tenant)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/routing.md
 */
export function header<S extends AnySchema>(name: string, schema: S): ParameterSource<OutputOf<S>, InputOf<S>, 'header'> {
  return new ParameterSource('header', name, schema)
}

/**
 * A parameter from a cookie: `{ theme: cookie('theme', t.enum('dark', 'light').default('light')) }`. If a cookie occurs several times, the
 * first counts, which browsers send for the longest path. Errors never repeat its value, which scripts in the page may not read.
 * @throws WEIR_ROUTE_DECLARATION for an invalid name, and for what is not a schema
 * @example
 * server.mapGet('/', { theme: cookie('theme', t.enum('dark', 'light').default('light')) }, ({ theme }) => theme)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/cookies.md
 */
export function cookie<S extends AnySchema>(name: string, schema: S): ParameterSource<OutputOf<S>, InputOf<S>, 'cookie'> {
  return new ParameterSource('cookie', name, schema)
}
