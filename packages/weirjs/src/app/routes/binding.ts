// Where each parameter of a route is read from. Resolved, and checked, when the route is mapped.

import { WeirError } from '../../base/errors.ts'
import type { Template } from '../../routing/template.ts'
import { asSchema } from '../../schema/foreign.ts'
import type { SchemaPlace } from '../../schema/schema.ts'
import type { AnySchema } from '../../schema/standard.ts'

import type { Parameter } from './declaration.ts'
import { ParameterSource } from './parameter-source.ts'

/**
 * A parameter: where it is read from, under which name, and how.
 * @example
 * const shown = ({ source, name }: Binding) => `${name} of the ${source}`
 * server.routes.flatMap(({ bindings }) => Object.values(bindings).map(shown))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/routing.md
 */
export interface Binding {
  readonly source: 'path' | 'query' | 'header' | 'cookie'
  /** Its name in the source, in lower case for a header field. Handlers use the name in the declaration. */
  readonly name: string
  /** Null: text. */
  readonly schema: AnySchema | null
}

/** What schemas can read from each source: names in a query may repeat, anything else is one string. */
const PLACES: Readonly<Record<Binding['source'], SchemaPlace>> = { path: 'text', query: 'texts', header: 'text', cookie: 'text' }

/**
 * The parameters of a route by the names under which handlers get them, parameters of the path first. Without a prototype.
 * @param where the route, for messages
 * @throws WEIR_ROUTE_DECLARATION for a schema that can never be read from there, and for a parameter of the path that is declared as a
 * header or cookie
 */
export function bindingsOf(
  template: Template,
  declared: Readonly<Record<string, Parameter>>,
  where: string,
): Readonly<Record<string, Binding>> {
  const bindings: Record<string, Binding> = Object.create(null)
  for (const { name } of template.parameters) {
    const parameter = declared[name] ?? null
    if (parameter instanceof ParameterSource)
      throw new WeirError(
        'WEIR_ROUTE_DECLARATION',
        `"${name}" of ${where} is in the path, and cannot come from a ${parameter.source}: rename one of them`,
      )
    bindings[name] = { source: 'path', name, schema: parameter }
  }
  for (const [name, parameter] of Object.entries(declared)) {
    if (name in bindings) continue
    if (parameter instanceof ParameterSource) bindings[name] = { source: parameter.source, name: parameter.name, schema: parameter.schema }
    else bindings[name] = { source: 'query', name, schema: parameter }
  }
  for (const [name, { source, schema }] of Object.entries(bindings)) {
    const reason = schema === null ? null : asSchema(schema).unreadable(PLACES[source])
    if (reason !== null)
      throw new WeirError(
        'WEIR_ROUTE_DECLARATION',
        `"${name}" of ${where} can never be read from the ${source}: ${reason}${hintFor(name, source)}`,
      )
  }
  return Object.freeze(bindings)
}

/** A hint for a schema that a query cannot hold. */
function hintFor(name: string, source: Binding['source']): string {
  if (source !== 'query') return ''
  return name === 'answers' ? '. Answers are declared by status, such as { 200: schema }' : '. The body of a request is declared as "body"'
}
