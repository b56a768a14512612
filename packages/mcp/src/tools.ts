// The tools of a server: which routes they are, and how they are described to clients.

import { type Binding, type RouteListing, WeirError } from 'weirjs'
import type { Contract, Entry } from 'weirjs/contract'
import { asSchema } from 'weirjs/kit'
import { type AnySchema, type JsonSchema, JsonSchemaWriter } from 'weirjs/schema'

/** What a client may pass as one argument. */
interface Argument {
  readonly source: Binding['source'] | 'body'
  /** Its name there. */
  readonly name: string
}

/** A tool: the route that it calls, and what clients are told about it. */
export interface Tool {
  readonly name: string
  readonly route: RouteListing
  readonly method: string
  readonly args: ReadonlyMap<string, Argument>
  /** How the body is sent; null for none. */
  readonly body: { readonly type: string; readonly isJson: boolean } | null
  /** Whether each result is an object that fits `outputSchema`. */
  readonly isStructured: boolean
  /** The Tool of the protocol. */
  readonly description: object
}

/** Which routes are tools; null for all that are declared as such. */
type Chosen = readonly Entry[] | Contract | null

/** Parameters with which a client authenticates itself. They are not arguments of a model. */
const CREDENTIALS: ReadonlySet<string> = new Set(['authorization', 'proxy-authorization', 'cookie', 'host'])
const NAME = /^[\w.-]{1,128}$/

/** @throws WEIR_ROUTE_DECLARATION for a route that cannot be a tool, two of the same name, and an entry that is not mapped */
export function toolsOf(routes: readonly RouteListing[], chosen: Chosen): ReadonlyMap<string, Tool> {
  const entries = chosen === null ? null : (Object.values(chosen) as readonly Entry[])
  const tools = new Map<string, Tool>()
  for (const route of routes) {
    const isChosen = entries === null ? route.tool !== null : route.entry !== null && entries.includes(route.entry)
    if (!isChosen) continue
    const tool = toolOf(route)
    const other = tools.get(tool.name)
    if (other !== undefined) throw wrong(route, `is a tool of the same name as ${labelOf(other.route)}: ${JSON.stringify(tool.name)}`)
    tools.set(tool.name, tool)
  }
  for (const entry of entries ?? [])
    if (!routes.some((route) => route.entry === entry))
      throw new WeirError('WEIR_ROUTE_DECLARATION', `${labelOf(entry)} is among the tools of mcp(), and is not mapped: call mapContract`)
  return tools
}

function toolOf(route: RouteListing): Tool {
  const { method, tool, operationId, summary, bindings, body } = route
  if (tool === null) throw wrong(route, 'is among the tools of mcp(), and is not declared as one: write tool: true')
  if (method === null) throw wrong(route, 'cannot be a tool: it has no method')
  if (route.upgradesTo !== null) throw wrong(route, `cannot be a tool: it switches to ${route.upgradesTo}`)
  const name = tool.name ?? operationId
  if (name === null || !NAME.test(name)) throw wrong(route, 'is a tool without a name: write an operationId, or tool: { name }')
  if (body !== null && (body.kind === 'multipart' || body.kind === 'form' || body.kind === 'bytes'))
    throw wrong(route, `cannot be a tool: arguments are JSON, and its body is ${body.kind === 'bytes' ? 'bytes' : `a ${body.kind} form`}`)
  if (body === null && route.bodyMode !== 'auto')
    throw wrong(route, 'cannot be a tool: its handler reads the body itself. Declare the body by a schema, or by text()')

  const writer = new JsonSchemaWriter()
  const properties: Record<string, JsonSchema> = {}
  const required: string[] = []
  const args = new Map<string, Argument>()
  const add = (arg: string, source: Argument['source'], key: string, schema: AnySchema | null): void => {
    args.set(arg, { source, name: key })
    properties[arg] = schema === null ? { type: 'string' } : writer.write(asSchema(schema), 'input')
    if (schema === null ? source === 'path' : !isOptional(schema)) required.push(arg)
  }
  for (const [arg, { source, name: key, schema }] of Object.entries(bindings))
    if (source !== 'cookie' && !CREDENTIALS.has(key)) add(arg, source, key, schema)
  if (body !== null) add('body', 'body', 'body', body.schema)
  const inputSchema = writer.document({ type: 'object', properties, required, additionalProperties: false })
  const outputSchema = outputOf(route)
  const description = tool.description ?? route.description ?? summary
  const title = tool.title ?? summary
  return {
    name,
    route,
    method,
    args,
    body: body === null ? null : bodyOf(body.kind === 'text', body.types),
    isStructured: outputSchema !== null,
    description: {
      name,
      ...(title !== null && { title }),
      ...(description !== null && { description }),
      inputSchema,
      ...(outputSchema !== null && { outputSchema }),
      annotations: { ...hintsOf(method), ...tool.annotations },
    },
  }
}

function bodyOf(isText: boolean, types: readonly string[]): Tool['body'] {
  const [type = isText ? 'text/plain' : 'application/json'] = types.filter((one) => !one.includes('*'))
  return { type, isJson: !isText }
}

/** The schema of results: only if all of them are objects of one kind. */
function outputOf({ answers }: RouteListing): JsonSchema | null {
  const successes = Object.entries(answers).filter(([status]) => status.startsWith('2'))
  const [answer] = successes.map(([, one]) => one)
  if (successes.length !== 1 || !answer) return null
  const schema = '~standard' in answer ? answer : answer.kind === 'text' || answer.kind === 'bytes' ? null : answer.schema
  if (schema === null) return null
  const own = asSchema(schema)
  const writer = new JsonSchemaWriter({ root: own })
  const written = writer.write(own, 'output')
  return written['type'] === 'object' ? writer.document(written) : null
}

/** The hints that follow from the properties of a method (RFC 9110 §9.2). */
function hintsOf(method: string): object {
  if (method === 'GET' || method === 'HEAD' || method === 'QUERY' || method === 'OPTIONS') return { readOnlyHint: true }
  return { readOnlyHint: false, ...((method === 'PUT' || method === 'DELETE') && { idempotentHint: true }) }
}

function isOptional(schema: AnySchema): boolean {
  const own = asSchema(schema)
  return own.isOptional || own.hasDefault
}

function wrong(route: RouteListing, why: string): WeirError {
  return new WeirError('WEIR_ROUTE_DECLARATION', `${labelOf(route)} ${why}`)
}

function labelOf({ method, host, path, source }: Pick<RouteListing, 'method' | 'path'> & Partial<RouteListing>): string {
  return `${method ?? 'ANY'} ${host ?? ''}${path}${source === undefined ? '' : ` (${source})`}`
}
