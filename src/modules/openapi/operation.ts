// One route as an operation of OpenAPI: its parameters, its body, and its responses.

import type { Binding } from '../../app/routes/binding.ts'
import type { RouteListing } from '../../app/routes/route-listing.ts'
import { STATUS_CODES } from '../../base/status-codes.ts'
import { PROBLEM_TYPE, Problem } from '../../http/answer/problem.ts'
import { TypedBody } from '../../http/body/typed-body.ts'
import { MultipartBody } from '../../http/multipart/form-body.ts'
import type { JsonSchema } from '../../schema/json-keywords.ts'
import type { AnySchema } from '../../schema/standard.ts'

import type { DocumentPath } from './paths.ts'
import { type DocumentSchemas, isOptional } from './schemas.ts'
import type { RouteSecurity, SecuritySchemes } from './security.ts'

/** An object of a document. */
export type Part = { readonly [member: string]: unknown }

const JSON_TYPE = 'application/json'
export const EVENT_STREAM = 'text/event-stream'
/** OpenAPI ignores parameters with these names: other parts of an operation describe them. */
const IGNORED_FIELDS: ReadonlySet<string> = new Set(['accept', 'content-type', 'authorization'])
/** The reference to a problem document. */
const PROBLEM: Part = { $ref: '#/components/responses/Problem' }
/** What a client reads of an event stream (https://html.spec.whatwg.org/#event-stream-interpretation). */
const EVENT: JsonSchema = {
  type: 'object',
  properties: {
    event: { type: 'string' },
    data: { type: 'string' },
    id: { type: 'string' },
    retry: { type: 'integer', minimum: 0 },
  },
  required: ['data'],
}

/** What operations of one document share. */
export interface Shared {
  readonly schemas: DocumentSchemas
  readonly security: SecuritySchemes
  /** Whether the document is one of OpenAPI 3.2. */
  readonly hasItemSchema: boolean
}

/** @param names of the path's parameters in the document: those of the first route with the same path */
export function operationOf(route: RouteListing, path: DocumentPath, names: readonly string[], shared: Shared): Part {
  const { summary, description, operationId, deprecated, tags, host } = route
  const security = shared.security.of(route.policies.map((policy) => policy.description))
  const parameters = parametersOf(route, path, names, shared.schemas)
  const body = requestBodyOf(route, shared.schemas)
  return {
    ...(tags.length === 0 ? {} : { tags: [...new Set(tags)] }),
    ...(summary === null ? {} : { summary }),
    ...(description === null ? {} : { description }),
    ...(operationId === null ? {} : { operationId }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === null ? {} : { requestBody: body }),
    responses: responsesOf(route, security, shared),
    ...(deprecated === false ? {} : { deprecated: true }),
    ...(security === null || security.requirements.length === 0 ? {} : { security: security.requirements }),
    ...(host === null ? {} : { servers: [serverOf(host)] }),
  }
}

/** The scheme of the URL is that of the document. */
function serverOf(host: string): Part {
  if (!host.startsWith('*.')) return { url: `//${host}` }
  return { url: `//{subdomain}${host.slice(1)}`, variables: { subdomain: { default: 'www', description: 'One or more labels' } } }
}

export function nameOf({ method, host, path, source }: RouteListing): string {
  return `${method ?? 'ANY'} ${host ?? ''}${path} (${source})`
}

function parametersOf(route: RouteListing, path: DocumentPath, names: readonly string[], schemas: DocumentSchemas): Part[] {
  const seen = new Set<string>()
  const declared = Object.values(route.bindings).flatMap((binding) => {
    const { source, name } = binding
    if (source === 'header' && IGNORED_FIELDS.has(name)) return []
    const key = `${source} ${name}`
    if (seen.has(key)) return []
    seen.add(key)
    const shown = source === 'path' ? names[path.names.indexOf(name)]! : name
    return [parameterOf(binding, shown, source === 'path' && name === path.rest, `parameter "${name}" of ${nameOf(route)}`, schemas)]
  })
  const key = idempotencyOf(route)
  if (key === null || seen.has(`header ${key.idempotencyHeader.toLowerCase()}`)) return declared
  const schema = { type: 'string', minLength: 1, maxLength: 255 }
  return [...declared, { name: key.idempotencyHeader, in: 'header', ...(key.isRequired ? { required: true } : {}), schema }]
}

interface IdempotencyDescription {
  readonly idempotencyHeader: string
  readonly isRequired: boolean
  readonly methods: readonly string[]
}

/** What `weir/idempotency` states about the route; null if it is not used there. */
function idempotencyOf({ method, policies }: RouteListing): IdempotencyDescription | null {
  const known = policies.find(({ description }) => has(description, 'idempotencyHeader', 'isRequired', 'methods'))
  const description = (known?.description ?? null) as IdempotencyDescription | null
  return description === null || (method !== null && !description.methods.includes(method)) ? null : description
}

function parameterOf({ source, schema }: Binding, name: string, isRest: boolean, where: string, schemas: DocumentSchemas): Part {
  const isRequired = source === 'path' || (schema !== null && !isOptional(schema))
  return {
    name,
    in: source,
    ...(isRequired ? { required: true } : {}),
    ...(isRest ? { description: 'The rest of the path. It may contain slashes.' } : {}),
    schema: schema === null ? { type: 'string' } : schemas.write(schema, 'input', where),
  }
}

function requestBodyOf(route: RouteListing, schemas: DocumentSchemas): Part | null {
  const { body, bodyMode } = route
  const where = `the body of ${nameOf(route)}`
  if (body === null) return bodyMode === 'auto' ? null : { content: { '*/*': {} } }
  const required = body.isOptional ? {} : { required: true }
  if (body instanceof MultipartBody) return { ...required, content: { [body.types[0]!]: formOf(body, schemas, where) } }
  const schema = schemas.ofBody(body, 'input', where)
  return { ...required, content: contentOf(body.types, schema) }
}

/** Bytes have no schema. */
function contentOf(types: readonly string[], schema: JsonSchema): Part {
  const media = Object.keys(schema).length === 0 ? {} : { schema }
  return Object.fromEntries(types.map((type) => [type, media]))
}

function formOf(body: MultipartBody, schemas: DocumentSchemas, where: string): Part {
  const fields = schemas.ofBody(body, 'input', where)
  const properties: Record<string, unknown> = { ...(fields['properties'] as object) }
  const required = [...((fields['required'] ?? []) as readonly string[])]
  const encoding: Record<string, Part> = {}
  for (const [name, { types, count, isOptional, maxBytes }] of Object.entries(body.files)) {
    const limit = Number.isFinite(maxBytes) ? { description: `At most ${maxBytes} bytes.` } : {}
    const one = { type: 'string', contentMediaType: types?.length === 1 ? types[0] : 'application/octet-stream', ...limit }
    properties[name] = count === null ? one : { type: 'array', items: one, maxItems: count }
    if (!isOptional) required.push(name)
    if (types !== null) encoding[name] = { contentType: types.join(', ') }
  }
  return {
    schema: {
      type: 'object',
      properties,
      ...(required.length === 0 ? {} : { required }),
      ...(body.isStrict ? { additionalProperties: false } : {}),
    },
    ...(Object.keys(encoding).length === 0 ? {} : { encoding }),
  }
}

function responsesOf(route: RouteListing, security: RouteSecurity | null, shared: Shared): Part {
  const responses: Record<string, Part> = {}
  for (const [status, answer] of Object.entries(route.answers)) {
    const where = `answer ${status} of ${nameOf(route)}`
    responses[status] = { description: phraseOf(status), ...(answer === null ? {} : { content: answerOf(answer, where, shared) }) }
  }
  const isClosed = Object.keys(responses).some((status) => Number(status) < 400)
  for (const status of refusalsOf(route, security)) responses[status] = withProblem(status, responses[status], shared)
  if (!isClosed) responses['default'] = { description: 'Any other response' }
  return responses
}

function withProblem(status: number, declared: Part | undefined, { schemas }: Shared): Part {
  if (declared === undefined) return { ...PROBLEM, description: phraseOf(status) }
  const content = declared['content'] as Part | undefined
  if (content === undefined || PROBLEM_TYPE in content) return declared
  return { ...declared, content: { ...content, ...problemContent(schemas) } }
}

function problemContent(schemas: DocumentSchemas): Part {
  return { [PROBLEM_TYPE]: { schema: schemas.write(Problem, 'output', 'Problem') } }
}

/** The component to which the responses of operations refer. */
export function problemResponse(schemas: DocumentSchemas): Part {
  return { description: 'The request was refused', content: problemContent(schemas) }
}

function phraseOf(status: string | number): string {
  return STATUS_CODES[Number(status)] ?? `Status ${status}`
}

function answerOf(answer: AnySchema | TypedBody, where: string, { schemas, hasItemSchema }: Shared): Part {
  if (!(answer instanceof TypedBody)) {
    return { [answer === Problem ? PROBLEM_TYPE : JSON_TYPE]: { schema: schemas.write(answer, 'output', where) } }
  }
  if (!isEventStream(answer)) return contentOf(answer.types, schemas.ofBody(answer, 'output', where))
  return { [EVENT_STREAM]: hasItemSchema ? { itemSchema: EVENT } : { schema: { type: 'string' } } }
}

export function isEventStream(answer: AnySchema | TypedBody | null): boolean {
  return answer instanceof TypedBody && answer.kind === 'text' && answer.types.length === 1 && answer.types[0] === EVENT_STREAM
}

/** The statuses with which weir itself may refuse a request of the route. */
function refusalsOf(route: RouteListing, security: RouteSecurity | null): readonly number[] {
  const { bindings, body, bodyMode, limits, policies } = route
  const hasKey = idempotencyOf(route) !== null
  const readsBody = body !== null || bodyMode !== 'auto'
  const statuses: readonly (readonly [number, boolean])[] = [
    [400, hasKey || body !== null || Object.values(bindings).some(({ schema }) => schema !== null)],
    [401, security?.isClosed === true],
    [403, security?.isNarrowed === true],
    [409, hasKey],
    [413, readsBody && (limits.maxRequestBodySize.value !== null || body?.kind === 'multipart' || body?.kind === 'form')],
    [415, body !== null],
    [422, hasKey],
    [429, policies.some(({ description }) => has(description, 'quota', 'windowMs'))],
    [
      503,
      hasKey ||
        limits.requestTimeout.value !== null ||
        policies.some(({ name, description }) => name === 'shed' || has(description, 'max', 'maxQueue')),
    ],
  ]
  return statuses.filter(([, mayHappen]) => mayHappen).map(([status]) => status)
}

/** Recognizes the descriptions of `weir/limits` and `weir/idempotency`. */
function has(description: unknown, ...names: readonly string[]): boolean {
  return typeof description === 'object' && description !== null && names.every((name) => Object.hasOwn(description, name))
}
