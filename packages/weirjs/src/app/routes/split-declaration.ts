// Splits a declaration, which is read once, into parameters and options, and checks both.

import { WeirError } from '../../base/errors.ts'
import { kindOf, shown } from '../../base/kind-of.ts'
import { namesOf } from '../../base/options.ts'
import { TypedBody } from '../../http/body/typed-body.ts'
import { isSchema } from '../../schema/standard.ts'
import { type CheckedPolicy, checkPolicies } from '../policies/policy.ts'
import type { GroupOptions, Parameter, RouteOptions } from './declaration.ts'
import { ParameterSource } from './parameter-source.ts'
import { checkAnswers } from './route-answers.ts'

const GROUP_OPTION_NAMES = namesOf<GroupOptions>()([
  'use',
  'host',
  'endpoint',
  'maxRequestBodySize',
  'requestTimeout',
  'writeTimeout',
  'etag',
  'answers',
  'metadata',
  'tags',
])
const ROUTE_OPTION_NAMES = namesOf<RouteOptions>()([
  ...GROUP_OPTION_NAMES,
  'absolute',
  'body',
  'summary',
  'description',
  'operationId',
  'deprecated',
])

/** What a declaration belongs to. */
type Owner = 'route' | 'group' | 'class'

const FUNCTION_MISPLACED: Readonly<Record<Owner, string>> = {
  route: ': the handler is the last argument',
  group: ': map routes on the group that group() returns',
  class: '',
}

export interface SplitDeclaration {
  /** Without a prototype. */
  readonly bindings: Readonly<Record<string, Parameter>>
  readonly options: RouteOptions
  readonly policies: readonly CheckedPolicy[]
}

/** @throws WEIR_ROUTE_DECLARATION for what is neither a schema nor an option of the owner, and for an option with a wrong value */
export function splitDeclaration(declaration: unknown, owner: Owner, where: string): SplitDeclaration {
  const bindings: Record<string, Parameter> = Object.create(null)
  const options: Record<string, unknown> = {}
  if (typeof declaration !== 'object' || declaration === null)
    throw new WeirError(
      'WEIR_ROUTE_DECLARATION',
      `the declaration of ${where} must be an object, not ${kindOf(declaration)}${typeof declaration === 'function' ? FUNCTION_MISPLACED[owner] : ''}`,
    )
  for (const [name, value] of Object.entries(declaration)) {
    if (value === undefined && isOption(name, owner)) continue
    if (isParameter(value) && name !== 'body' && owner !== 'class') bindings[name] = value
    else if (isOption(name, owner)) options[name] = value
    else throw new WeirError('WEIR_ROUTE_DECLARATION', `"${name}" of ${where} ${whyNot(name, value, owner)}`)
  }
  checkOptions(options, where)
  return { bindings, options, policies: checkPolicies(where, options['use']) }
}

function isParameter(value: unknown): value is Parameter {
  return value instanceof ParameterSource || isSchema(value)
}

export function isOption(name: string, owner: Owner): boolean {
  return optionsOf(owner).includes(name)
}

function optionsOf(owner: Owner): readonly string[] {
  return owner === 'route' ? ROUTE_OPTION_NAMES : GROUP_OPTION_NAMES
}

function whyNot(name: string, value: unknown, owner: Owner): string {
  if (owner === 'class') return 'is not an option of a class: parameters and body belong to the routes of its methods'
  if (owner === 'group' && isOption(name, 'route')) return 'is not an option of a group: it belongs to each route'
  // Such as `t.integer`, which does not exist: without a schema, the parameter would be accepted as any text.
  if (value === undefined) return 'is undefined, not a schema'
  return `is neither a schema nor an option of a ${owner}; the options are ${optionsOf(owner).join(', ')}`
}

function checkOptions(options: RouteOptions, where: string): void {
  const refuse = (name: keyof RouteOptions, expected: string): never => {
    throw new WeirError('WEIR_ROUTE_DECLARATION', `option "${name}" of ${where} is ${shown(options[name])}, not ${expected}`)
  }
  const { host, endpoint, body, maxRequestBodySize: size, etag = false, metadata = {}, tags = [], deprecated = false } = options
  if (host !== undefined && !(typeof host === 'string' && /^(?:\*\.)?[\w-]+(?:\.[\w-]+)*$/.test(host)))
    refuse('host', 'a name such as api.example.com or *.example.com, without a port')
  if (endpoint !== undefined && (typeof endpoint !== 'string' || endpoint === '')) refuse('endpoint', 'the name of an entry of "listen"')
  if (body !== undefined && body !== 'buffer' && body !== 'stream' && !(body instanceof TypedBody) && !isSchema(body))
    refuse('body', 'a schema, a body such as json(schema), "buffer" or "stream"')
  if (size !== undefined && size !== null && !(Number.isSafeInteger(size) && size >= 0))
    refuse('maxRequestBodySize', 'a whole number of bytes or null')
  for (const name of ['requestTimeout', 'writeTimeout'] as const) {
    const time = options[name]
    if (time !== undefined && time !== null && !(Number.isSafeInteger(time) && time >= 1))
      refuse(name, 'a whole number of milliseconds, 1 or more, or null')
  }
  if (options.answers !== undefined) checkAnswers(options.answers, where)
  if (typeof etag !== 'boolean') refuse('etag', 'true or false')
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) refuse('metadata', 'an object')
  for (const name of ['summary', 'description', 'operationId'] as const)
    if (options[name] !== undefined && (typeof options[name] !== 'string' || options[name] === ''))
      refuse(name, 'a string that is not empty')
  if (typeof deprecated !== 'boolean' && !(deprecated instanceof Date && !Number.isNaN(deprecated.getTime())))
    refuse('deprecated', 'true, false or a date')
  if (!Array.isArray(tags) || !tags.every((tag) => typeof tag === 'string')) refuse('tags', 'a list of strings')
}
