// The responses of an operation: what its route declares, and the refusals of weir and of policies.

import { Problem, type RouteListing } from 'weirjs'
import type { EventsBody, TypedBody } from 'weirjs/contract'
import type { AnySchema, JsonSchema } from 'weirjs/schema'
import { refusalsOf, responsesBeside } from './refusals.ts'
import type { DocumentSchemas } from './schemas.ts'
import type { RouteSecurity } from './security.ts'

/** An object of a document. */
export type Part = { readonly [member: string]: unknown }

const JSON_TYPE = 'application/json'
const PROBLEM_TYPE = 'application/problem+json'
/** Reason phrases for which Node has older names. */
const PHRASES: Readonly<Record<string, string | undefined>> = { 413: 'Content Too Large', 422: 'Unprocessable Content' }
/** Not imported: that would also load what `fetch` and `WebSocket` need, and take tens of milliseconds of each start. */
const phrasesOfNode = (): Readonly<Record<string, string | undefined>> => process.getBuiltinModule('node:http').STATUS_CODES
const EVENT_STREAM = 'text/event-stream'
/** The fields that a client reads in an event stream (https://html.spec.whatwg.org/#event-stream-interpretation). */
const EVENT_FIELDS = {
  event: { type: 'string' },
  data: { type: 'string' },
  id: { type: 'string' },
  retry: { type: 'integer', minimum: 0 },
} as const
const EVENT: JsonSchema = { type: 'object', properties: EVENT_FIELDS, required: ['data'] }

const HEADERS = {
  ETag: { description: 'The version of the response', schema: { type: 'string' } },
  'Retry-After': { description: 'Seconds after which the request may be accepted', schema: { type: 'integer', minimum: 1 } },
  RateLimit: { description: 'What is left of each quota (draft-ietf-httpapi-ratelimit-headers)', schema: { type: 'string' } },
  'RateLimit-Policy': { description: 'The quotas', schema: { type: 'string' } },
} as const satisfies Readonly<Record<string, Part>>
type HeaderName = keyof typeof HEADERS
const QUOTA_HEADERS: readonly HeaderName[] = ['RateLimit', 'RateLimit-Policy']

/** The refusals to which operations refer. All of them have the same content. */
const REFUSALS = {
  Problem: { description: 'The request was refused', headers: [] },
  TooManyRequests: { description: 'The client has used up a quota', headers: ['Retry-After', ...QUOTA_HEADERS] },
  Unavailable: { description: 'The server has no capacity for the request', headers: ['Retry-After'] },
} as const satisfies Readonly<Record<string, { readonly description: string; readonly headers: readonly HeaderName[] }>>
type RefusalName = keyof typeof REFUSALS

/** The responses of all operations of a document. */
export class DocumentResponses {
  readonly #schemas: DocumentSchemas
  readonly #hasItemSchema: boolean
  readonly #used = new Set<RefusalName>()
  readonly #headers = new Set<HeaderName>()

  /** @param hasItemSchema whether the document is one of OpenAPI 3.2 */
  constructor(schemas: DocumentSchemas, hasItemSchema: boolean) {
    this.#schemas = schemas
    this.#hasItemSchema = hasItemSchema
  }

  /** The components that operations refer to. */
  get components(): Part {
    const names = (Object.keys(REFUSALS) as RefusalName[]).filter((name) => this.#used.has(name))
    const responses = Object.fromEntries(names.map((name) => [name, this.#refusal(name)]))
    const headers = Object.fromEntries(Object.entries(HEADERS).filter(([name]) => this.#headers.has(name as HeaderName)))
    return {
      ...(names.length === 0 ? {} : { responses }),
      ...(this.#headers.size === 0 ? {} : { headers }),
    }
  }

  /** @param name of the route, for messages */
  of(route: RouteListing, name: string, security: RouteSecurity | null): Part {
    const { statuses, hasQuota, isShort } = refusalsOf(route, security)
    const headers = hasQuota ? this.#headersOf(QUOTA_HEADERS) : {}
    const responses: Record<string, Part> = route.upgradesTo === null ? {} : { 101: { description: phraseOf(101) } }
    for (const [status, answer] of Object.entries(route.answers)) {
      const description = phraseOf(status)
      if (answer === Problem) responses[status] = this.#refer(refusalName(Number(status), hasQuota, isShort), description)
      else if (answer === null) responses[status] = { description, ...headers }
      else responses[status] = { description, ...headers, content: this.#contentOf(answer, `answer ${status} of ${name}`) }
    }
    const isClosed = Object.keys(responses).some((status) => Number(status) < 400)
    if (isTagged(route)) this.#tag(responses)
    for (const [status, response] of responsesBeside(route)) responses[status] ??= { ...response }
    for (const status of statuses) {
      const declared = responses[status]
      const component = refusalName(status, hasQuota, isShort)
      responses[status] = declared === undefined ? this.#refer(component, phraseOf(status)) : this.#alsoRefused(declared)
    }
    if (!isClosed) responses['default'] = { description: 'Any other response', ...headers }
    return responses
  }

  /** Adds the responses of `etag`. A response may have another status than the declared 200, and then its fields are not known. */
  #tag(responses: Record<string, Part>): void {
    const tag = this.#headersOf(['ETag'])
    const whole = responses[200]
    if (whole !== undefined) responses[200] = { ...whole, headers: { ...tag['headers'], ...(whole['headers'] as object | undefined) } }
    responses[304] ??= { description: phraseOf(304), ...tag }
  }

  #refer(name: RefusalName, description: string): Part {
    this.#used.add(name)
    for (const header of REFUSALS[name].headers) this.#headers.add(header)
    return { $ref: `#/components/responses/${name}`, description }
  }

  #refusal(name: RefusalName): Part {
    const { description, headers } = REFUSALS[name]
    return { description, ...this.#headersOf(headers), content: this.#problem() }
  }

  #headersOf(names: readonly HeaderName[]): { readonly headers?: object } {
    for (const name of names) this.#headers.add(name)
    return names.length === 0 ? {} : { headers: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }])) }
  }

  /** A declared response whose status a refusal may have, too. */
  #alsoRefused(declared: Part): Part {
    const content = declared['content'] as Part | undefined
    if (content === undefined || PROBLEM_TYPE in content) return declared
    return { ...declared, content: { ...content, ...this.#problem() } }
  }

  #problem(): Part {
    return { [PROBLEM_TYPE]: { schema: this.#schemas.write(Problem, 'output', 'Problem') } }
  }

  #contentOf(answer: AnySchema | TypedBody, where: string): Part {
    if (isSchema(answer)) return { [JSON_TYPE]: { schema: this.#schemas.write(answer, 'output', where) } }
    if (!isEventStream(answer)) return contentOf(answer.types, this.#schemas.ofBody(answer, 'output', where))
    return { [EVENT_STREAM]: this.#hasItemSchema ? { itemSchema: this.#eventOf(answer, where) } : { schema: { type: 'string' } } }
  }

  /** An event, with its data as JSON if its schema is declared, and one choice for each name that has a schema. */
  #eventOf(answer: TypedBody, where: string): JsonSchema {
    const schemas = 'data' in answer ? (answer as EventsBody).data : null
    if (schemas === null) return EVENT
    if (isSchema(schemas)) return { ...EVENT, properties: { ...EVENT_FIELDS, data: this.#dataOf(schemas, where) } }
    const choices = Object.entries(schemas).map(([name, schema]) => ({
      properties: { event: { const: name }, data: this.#dataOf(schema, where) },
      required: ['event'],
    }))
    return { ...EVENT, oneOf: choices }
  }

  #dataOf(schema: AnySchema, where: string): JsonSchema {
    return { type: 'string', contentMediaType: JSON_TYPE, contentSchema: this.#schemas.write(schema, 'output', where) }
  }
}

/** Whether its 200 has an ETag, by which a client can ask for what has changed. */
export function isTagged({ etag, method }: RouteListing): boolean {
  return etag && (method === 'GET' || method === 'HEAD')
}

/** Bytes have no schema. */
export function contentOf(types: readonly string[], schema: JsonSchema): Part {
  const media = Object.keys(schema).length === 0 ? {} : { schema }
  return Object.fromEntries(types.map((type) => [type, media]))
}

export function isEventStream(answer: AnySchema | TypedBody | null): boolean {
  return answer !== null && !isSchema(answer) && answer.kind === 'text' && answer.types.length === 1 && answer.types[0] === EVENT_STREAM
}

function refusalName(status: number, hasQuota: boolean, isShort: boolean): RefusalName {
  if (status === 429 && hasQuota) return 'TooManyRequests'
  return isShort && status === 503 ? 'Unavailable' : 'Problem'
}

function phraseOf(status: string | number): string {
  return PHRASES[status] ?? phrasesOfNode()[status] ?? `Status ${status}`
}

/** Whether it is a Standard Schema, and no declaration of a body. */
function isSchema(answer: object): answer is AnySchema {
  return '~standard' in answer
}
