// The parts of a contract that a client needs: methods, paths, and where each value is sent. Both the contract and its outline have them.

import type { Contract, WebSocketEntry } from '../../app/routes/contract.ts'

/** What a client needs of one entry, as data. An `Entry` has it too. */
export interface OutlinedEntry {
  readonly method: string
  readonly path: string
  readonly declaration: object
}

/** What a client needs of a WebSocket entry, as data. */
export interface OutlinedWebSocket extends OutlinedEntry {
  readonly upgradesTo: 'websocket'
  /** Whether what clients send is JSON. An entry has the schema. */
  readonly receives?: unknown
  /** Whether what arrives is JSON. */
  readonly sends?: unknown
}

/** What a client needs of a contract, as data: without schemas. */
export type Outline<C extends Contract = Contract> = {
  readonly [K in keyof C]: C[K] extends WebSocketEntry ? OutlinedWebSocket : OutlinedEntry
}

/** What a client needs of a part of a declaration. */
export interface OutlinedPart {
  /** Where a parameter is sent. */
  readonly source?: 'query' | 'header' | 'cookie'
  /** The name of its field or cookie. */
  readonly name?: string
  /** How a body is sent, or a response is read. */
  readonly kind?: string
  readonly types?: readonly string[]
  /** How a response that arrives in pieces is read. */
  readonly delivery?: 'events' | 'json-events' | 'stream'
}

/**
 * The contract as JSON, without its schemas: a client that gets this in place of the contract needs none of them in its bundle.
 *
 * `client<typeof api>(outline, 'https://shop.example')`, where `outline` is the JSON of `outlineOf(api)`
 */
export function outlineOf<C extends Contract>(contract: C): Outline<C> {
  const outlined = Object.entries(contract).map(([name, { method, path, declaration, ...more }]) => {
    const segments = path.split('/')
    const parts: Record<string, unknown> = {}
    for (const [key, part] of Object.entries(declaration as { readonly [name: string]: unknown })) {
      const { source, name } = Object(partOf(part)) as OutlinedPart
      if (segments.includes(`:${key}`) || segments.includes(`*${key}`)) continue
      if (key === 'body') parts[key] = outlinedContent(part)
      else if (source !== undefined) parts[key] = { source, name }
      else if (key === 'answers')
        parts[key] = Object.fromEntries(Object.entries(part as object).map(([status, answer]) => [status, outlinedContent(answer)]))
    }
    const { upgradesTo, receives, sends } = more as Partial<OutlinedWebSocket>
    const flags = upgradesTo && { upgradesTo, receives: Boolean(receives), sends: Boolean(sends) }
    return [name, { method, path, declaration: parts, ...flags }]
  })
  return Object.fromEntries(outlined) as Outline<C>
}

/** A body, a declared answer, `buffer`, `stream` or null. */
function outlinedContent(part: unknown): unknown {
  if (typeof part !== 'object' && typeof part !== 'function') return part
  const known = partOf(part) as OutlinedPart | null
  return known && { kind: known.kind, types: known.types, delivery: known.delivery }
}

/** A schema describes JSON where it is a body or an answer, and otherwise a parameter from the path or the query. */
const OF_SCHEMA: OutlinedPart = { source: 'query', kind: 'json' }

/** A part of a declaration, as clients see it. What is neither a parameter nor a body has neither a source nor a kind. @internal */
export function partOf(part: unknown): unknown {
  return isSchema(part) ? OF_SCHEMA : part
}

/** Some libraries make their schemas functions. */
function isSchema(part: unknown): boolean {
  return '~standard' in Object(part)
}
