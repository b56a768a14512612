// One route as an operation of OpenAPI: its parameters, its body, and its responses.

import type { Binding, RouteListing } from 'weirjs'
import type { MultipartBody } from 'weirjs/contract'
import { idempotencyOf } from './idempotency-key.ts'
import type { DocumentPath } from './paths.ts'
import { parametersBeside } from './refusals.ts'
import { contentOf, type DocumentResponses, isTagged, type Part } from './responses.ts'
import { type DocumentSchemas, isOptional } from './schemas.ts'
import type { SecuritySchemes } from './security.ts'

/** OpenAPI ignores parameters with these names: other parts of an operation describe them. */
const IGNORED_FIELDS: ReadonlySet<string> = new Set(['accept', 'content-type', 'authorization'])

/** What operations of one document share. */
export interface Shared {
  readonly schemas: DocumentSchemas
  readonly security: SecuritySchemes
  readonly responses: DocumentResponses
}

/** @param names of the path's parameters in the document: the first route with the same path decides them */
export function operationOf(route: RouteListing, path: DocumentPath, names: readonly string[], shared: Shared): Part {
  const { summary, description, operationId, deprecated, tags, host } = route
  const security = shared.security.of(route.policies.map((policy) => policy.description))
  const parameters = parametersOf(route, path, names, shared.schemas)
  const body = requestBodyOf(route, shared.schemas)
  const messages = messagesOf(route, shared.schemas)
  return {
    ...(tags.length === 0 ? {} : { tags: [...new Set(tags)] }),
    ...(summary === null ? {} : { summary }),
    ...(description === null ? {} : { description }),
    ...(operationId === null ? {} : { operationId }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === null ? {} : { requestBody: body }),
    responses: shared.responses.of(route, nameOf(route), security),
    ...(deprecated === false ? {} : { deprecated: true }),
    ...(security === null || security.requirements.length === 0 ? {} : { security: security.requirements }),
    ...(host === null ? {} : { servers: [serverOf(host)] }),
    ...(messages === null ? {} : { 'x-websocket': messages }),
  }
}

/** The URL has the scheme of the document. */
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
  for (const own of parametersBeside(route)) {
    const key = `${own.in} ${own.in === 'header' ? own.name.toLowerCase() : own.name}`
    if (!seen.has(key)) declared.push({ ...own })
    seen.add(key)
  }
  if (route.policies.some(({ name }) => name === 'requireIfMatch') && !seen.has('header if-match'))
    declared.push({
      name: 'If-Match',
      in: 'header',
      description: 'The ETag of the version that the request changes.',
      schema: { type: 'string' },
    })
  if (isTagged(route) && !seen.has('header if-none-match'))
    declared.push({ name: 'If-None-Match', in: 'header', description: 'The ETag that the client has.', schema: { type: 'string' } })
  const key = idempotencyOf(route)
  if (key === null || seen.has(`header ${key.idempotencyHeader.toLowerCase()}`)) return declared
  const schema = { type: 'string', minLength: 1, maxLength: 255 }
  return [...declared, { name: key.idempotencyHeader, in: 'header', ...(key.isRequired ? { required: true } : {}), schema }]
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
  if (body.kind === 'multipart') return { ...required, content: { [body.types[0]!]: formOf(body as MultipartBody, schemas, where) } }
  const schema = schemas.ofBody(body, 'input', where)
  return { ...required, content: contentOf(body.types, schema) }
}

/** The JSON that a WebSocket receives from clients, and that it sends. Messages without a schema are texts and bytes, and have no member. */
function messagesOf(route: RouteListing, schemas: DocumentSchemas): Part | null {
  if (route.messages === null) return null
  const { receives, sends } = route.messages
  const where = (what: string): string => `what ${nameOf(route)} ${what}`
  return {
    ...(receives === null ? {} : { receives: schemas.write(receives, 'input', where('receives')) }),
    ...(sends === null ? {} : { sends: schemas.write(sends, 'output', where('sends')) }),
  }
}

function formOf(body: MultipartBody, schemas: DocumentSchemas, where: string): Part {
  const fields = schemas.ofBody(body, 'input', where)
  const properties: Record<string, unknown> = { ...(fields['properties'] as object) }
  const required = [...((fields['required'] ?? []) as readonly string[])]
  const encoding: Record<string, Part> = {}
  for (const [name, { types, count, isOptional, maxSize }] of Object.entries(body.files)) {
    const limit = Number.isFinite(maxSize) ? { description: `At most ${maxSize} bytes.` } : {}
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
