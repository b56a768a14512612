// Splits a declaration, which is read once, into parameters and options, and checks both.

import { WeirError } from '../../base/errors.ts'
import { kindOf } from '../../base/kind-of.ts'
import { anything, duration, flag, matching, nested, object, rate, size, text, texts } from '../../base/option-kinds.ts'
import { type Rule, rules } from '../../base/option-rules.ts'
import { perhaps } from '../../base/options.ts'
import { TypedBody } from '../../http/body/typed-body.ts'
import { isSchema } from '../../schema/standard.ts'
import { type CheckedPolicy, checkPolicies } from '../policies/policy.ts'
import {
  type BodyOption,
  GATHERED_ELSEWHERE,
  type GroupOptions,
  KNOWN_ELSEWHERE,
  type Parameter,
  type RouteOptions,
  type ToolOptions,
} from './declaration.ts'
import { ParameterSource } from './parameter-source.ts'
import { checkAnswers } from './route-answers.ts'

const OWNER = 'declaration'
const isNotEmpty = (value: string): boolean => value !== ''
const WORDS_OR = (absent: string) => text('a string that is not empty', isNotEmpty).optional(absent)
const WORDS = WORDS_OR('none')
const TIME = duration({ most: Number.MAX_SAFE_INTEGER }).nullable().optional("the server's")
const isHost = (host: string): boolean => /^(?:\*\.)?[\w-]+(?:\.[\w-]+)*$/.test(host)
const isDeprecation = (value: unknown): boolean => typeof value === 'boolean' || (value instanceof Date && !Number.isNaN(value.getTime()))
const isBody = (body: unknown): boolean => body === 'buffer' || body === 'stream' || body instanceof TypedBody || isSchema(body)

/** @internal `use` and `answers` are checked by the code that reads them. */
export const GROUP_RULES = rules<GroupOptions>('a group')({
  use: anything().optional(),
  host: text('a name such as api.example.com or *.example.com, without a port', isHost).optional('any'),
  endpoint: text('the name of an entry of "listen"', isNotEmpty).optional('any'),
  maxRequestBodySize: size().nullable().optional("the server's"),
  requestTimeout: TIME,
  writeTimeout: TIME,
  minBodyRate: rate().optional("the server's"),
  etag: flag(false).optional('false'),
  requireIfMatch: flag(false).optional('false'),
  answers: anything().optional(),
  metadata: object().optional('{}'),
  tags: texts('a string', () => true).optional(),
})
/** @internal */
export const TOOL_RULES = rules<ToolOptions>('tool')({
  name: text('1 to 128 of the characters A-Z, a-z, 0-9, _, - and .', (name) => /^[\w.-]{1,128}$/.test(name)).optional('operationId'),
  title: WORDS_OR('summary'),
  description: WORDS_OR('description, or summary'),
  annotations: object().or({}, 'by the method'),
})
/** @internal */
export const ROUTE_RULES = rules<RouteOptions>('a route')({
  ...GROUP_RULES.table,
  absolute: flag(false).optional('false'),
  body: matching<BodyOption>('a schema such as t.object({ … }), a body such as json(schema), "buffer" or "stream"', isBody).optional(
    'buffer; stream for multipart/form-data',
  ),
  summary: WORDS,
  description: WORDS,
  operationId: WORDS,
  deprecated: matching<boolean | Date>('true, false or a date', isDeprecation).optional('false'),
  tool: nested(TOOL_RULES, 'true, false or an object such as { name: "search" }').also(true).also(false).optional('false'),
})

/** What a declaration belongs to. */
type Owner = 'route' | 'group' | 'class'

const FUNCTION_MISPLACED: Readonly<Record<Owner, string>> = {
  route: ': the handler is the last argument',
  group: ': map routes on the group that group() returns',
  class: '',
}

/** The options of a route with bytes and milliseconds. */
export type CheckedOptions = Omit<RouteOptions, Limit | 'tool'> & { readonly [K in Limit]?: number | null } & {
  readonly tool?: boolean | typeof TOOL_RULES.settings
}
type Limit = 'maxRequestBodySize' | 'requestTimeout' | 'writeTimeout'

export interface SplitDeclaration {
  /** Without a prototype. */
  readonly bindings: Readonly<Record<string, Parameter>>
  readonly options: CheckedOptions
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
  return { bindings, options: checkedOptions(options, where), policies: checkPolicies(where, options['use']) }
}

function isParameter(value: unknown): value is Parameter {
  return value instanceof ParameterSource || isSchema(value)
}

export function isOption(name: string, owner: Owner): boolean {
  return optionsOf(owner).includes(name)
}

function optionsOf(owner: Owner): readonly string[] {
  return owner === 'route' ? ROUTE_RULES.names : GROUP_RULES.names
}

/** Values that stand for a type in other frameworks. */
const SCHEMAS: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [String, 't.string'],
  [Number, 't.number'],
  [Boolean, 't.bool'],
  [Date, 't.dateTime'],
])

function whyNot(name: string, value: unknown, owner: Owner): string {
  if (owner === 'class') return 'is not an option of a class: parameters and body belong to the routes of its methods'
  if (owner === 'group' && isOption(name, 'route')) return 'is not an option of a group: it belongs to each route'
  // For example, `t.integer`, which does not exist: without a schema, the parameter would be accepted as any text.
  if (value === undefined) return 'is undefined, not a schema'
  if (Object.hasOwn(KNOWN_ELSEWHERE, name)) return `is not an option of a ${owner}: it is called "${KNOWN_ELSEWHERE[name as 'schema']}"`
  if ((GATHERED_ELSEWHERE as readonly string[]).includes(name))
    return `is not an option of a ${owner}: declare each parameter by its own name, such as { id: t.int }`
  const schema = typeof value === 'function' ? SCHEMAS.get(value) : undefined
  if (schema !== undefined) return `is ${(value as { name: string }).name}, not a schema: write ${schema}`
  return `is neither a schema nor an option of a ${owner}${perhaps(name, optionsOf(owner))}`
}

/** The options in the form in which the engine has them: bytes and milliseconds. @throws WEIR_ROUTE_DECLARATION */
function checkedOptions(options: Readonly<Record<string, unknown>>, where: string): CheckedOptions {
  const checked: Record<string, unknown> = {}
  const table: Readonly<Record<string, Rule<never, unknown>>> = ROUTE_RULES.table
  for (const [name, value] of Object.entries(options)) {
    try {
      checked[name] = table[name]!.read(value, { owner: OWNER, option: `option "${name}" of ${where}` })
    } catch (error) {
      const { message } = error as Error
      throw new WeirError('WEIR_ROUTE_DECLARATION', message.slice(message.indexOf(OWNER) + OWNER.length + 2))
    }
  }
  if (options['answers'] !== undefined) checkAnswers(options['answers'] as never, where)
  return checked
}
