// From the arguments of a call to a request: where each of them is sent, and how.

import type { PathParameters } from '../../app/routes/contract.ts'
import type { BoundNames } from '../../app/routes/declaration.ts'
import type { ParameterSource } from '../../app/routes/parameter-source.ts'
import type { TypedBody } from '../../http/body/typed-body.ts'
import type { AnySchema, InputOf } from '../../schema/standard.ts'
import { type OutlinedEntry, type OutlinedPart, partOf } from './outline.ts'

/** Header fields, as `fetch` takes them. */
export type HeaderFields = ConstructorParameters<typeof Headers>[0]

/** Options of `fetch` for a request, such as `signal`, `credentials`, `redirect` and `keepalive`, and header fields. */
export interface CommonOptions extends Omit<RequestInit, 'method' | 'body' | 'headers'> {
  readonly headers?: HeaderFields
}

type Flatten<T> = { [K in keyof T]: T[K] } & {}
type RawBody = NonNullable<RequestInit['body']>

/** What a call sends for a part of a declaration: dates and large numbers are text there. */
type Sent<S> = S extends AnySchema
  ? InputOf<S>
  : S extends ParameterSource<unknown, infer I>
    ? I
    : S extends TypedBody<unknown, infer I>
      ? I
      : S extends 'buffer' | 'stream'
        ? RawBody
        : never
type SentNames<P extends string, D> = Exclude<
  BoundNames<D> | (D extends { body: 'buffer' | 'stream' } ? 'body' : never),
  keyof PathParameters<P>
> &
  keyof D
/** A browser sends its cookies itself. */
type OptionalNames<N extends keyof D, D> = {
  [K in N]: D[K] extends ParameterSource<unknown, unknown, 'cookie'> ? K : undefined extends Sent<D[K]> ? K : never
}[N]
type Value<K, T> = K extends 'body' ? Exclude<T, undefined> : Exclude<T, undefined | null>

/**
 * The arguments of a call, for template `P` and declaration `D`. Everything is passed as it is sent: a date is text, such as
 * `date.toISOString()`.
 */
export type ArgsFor<P extends string, D> = Flatten<
  { readonly [K in keyof PathParameters<P>]: K extends keyof D ? Value<K, Sent<D[K]>> : string } & {
    readonly [K in Exclude<SentNames<P, D>, OptionalNames<SentNames<P, D>, D>>]: Value<K, Sent<D[K]>>
  } & { readonly [K in OptionalNames<SentNames<P, D>, D>]?: Value<K, Sent<D[K]>> | undefined }
>

/** @internal */
export type Args = { readonly [name: string]: unknown }

/**
 * @param common fields of all calls
 * @throws TypeError for what cannot be sent; URIError for half a surrogate pair in a path
 * @internal
 */
export function requestOf(entry: OutlinedEntry, base: string, args: Args, common: HeaderFields, options: CommonOptions): Request {
  const { method } = entry
  const headers = new Headers(common)
  let body: RawBody | undefined
  const url = urlOf(entry, base, args, (name, part, value) => {
    if (name === 'body') {
      let type: string | undefined
      ;[body, type] = bodyOf(value, part)
      if (type !== undefined) headers.set('content-type', type)
    } else if (part.source !== undefined) {
      const [text, ...more] = textsOf(value)
      if (more.length) throw new TypeError(`"${name}" has several values`)
      if (text === undefined) return
      if (part.source === 'header') headers.set(part.name!, text)
      else headers.append('cookie', `${part.name}=${encodeURIComponent(text)}`)
    }
  })
  for (const [name, text] of new Headers(options.headers)) headers.set(name, text)
  // `duplex` is required for a body that is a stream.
  const request = new Request(url, { ...options, method, headers, body: body ?? null, duplex: 'half' } as RequestInit)
  if (headers.has('cookie') && !request.headers.has('cookie')) throw new TypeError('a browser sends its own cookies')
  return request
}

/**
 * The URL of an entry, with what is sent in it.
 * @param others is called for each argument that is sent elsewhere
 * @throws TypeError for what cannot be a part of a path; URIError
 * @internal
 */
export function urlOf(
  { path, declaration }: OutlinedEntry,
  base: string,
  args: Args,
  others: (name: string, part: OutlinedPart, value: unknown) => void,
): string {
  const search = new URLSearchParams()
  const left: Record<string, unknown> = { ...args }
  const filled = path.replace(/([:*])\*?([^/]+)/g, (_, kind, name) => {
    left[name] = undefined
    return segmentsOf(name, args[name], kind === '*')
  })
  for (const [name, declared] of Object.entries(declaration)) {
    const part = partOf(declared) as OutlinedPart
    const value = left[name]
    if (value === undefined) continue
    if (name !== 'body' && part.source === 'query') for (const text of textsOf(value)) search.append(name, text)
    else others(name, part, value)
  }
  const query = `${search}`
  return base.replace(/\/$/, '') + filled + (query && `?${query}`)
}

/**
 * Clients resolve `.` and `..`, encoded or not, and servers refuse them between backslashes too. An empty segment would match another route.
 */
function segmentsOf(name: string, value: unknown, isRest: boolean): string {
  const texts = textsOf(value)
  const segments = isRest ? `${texts[0] ?? ''}`.split('/') : texts
  if (texts.length !== 1 || segments[0] === '' || segments.some((segment) => /(^|\\)\.\.?(\\|$)/.test(segment)))
    throw new TypeError(`"${name}" cannot be ${JSON.stringify(value)}`)
  return segments.map(encodeURIComponent).join('/')
}

/** Null and undefined are left out. */
function textsOf(value: unknown): string[] {
  return [value]
    .flat()
    .filter((one) => one !== null && one !== undefined)
    .map((one) => (one instanceof Date ? one.toISOString() : String(one)))
}

/** The body, and its content type unless `fetch` knows it. */
function bodyOf(value: unknown, { kind, types }: OutlinedPart): [body: RawBody, type?: string | undefined] {
  if (kind === 'json') return [JSON.stringify(value), types?.[0] ?? 'application/json']
  if (kind === 'form') return [append(new URLSearchParams(), value)]
  if (kind === 'multipart') {
    const { fields, files = {} } = value as {
      readonly fields?: object
      readonly files?: { readonly [name: string]: Blob | readonly Blob[] }
    }
    const form = append(new FormData(), fields)
    for (const [name, given] of Object.entries(files)) for (const file of [given ?? []].flat()) form.append(name, file as Blob)
    return [form]
  }
  return [value as RawBody, (value as Blob).type || types?.find((type) => !type.includes('*'))]
}

/** The brackets mark a list with a single element as one. */
function append<T extends URLSearchParams | FormData>(form: T, fields: unknown): T {
  for (const [name, value] of Object.entries(fields ?? {}))
    for (const text of textsOf(value)) form.append(Array.isArray(value) ? `${name}[]` : name, text)
  return form
}
