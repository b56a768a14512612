// An explanation as text, for people: one fact a line, what matters first.

import { DEFAULT_LIMITS, DEFAULT_TIMEOUTS } from '../../base/limits.ts'

import type { ExplainedArgument, ExplainedBody, ExplainedPolicy, ExplainedRoute, Explanation } from './explanation.ts'

const TITLE_WIDTH = 11

export function textOf(explanation: Explanation): string {
  const { method, target, response, path, host, endpoint, client, route, others, othersLeftOut, policies, body } = explanation
  const status = response.status === null ? '' : `${response.status} `
  const lines = [`${method} ${target}`]
  const add = (title: string, values: readonly string[]): void => {
    values.forEach((value, i) => void lines.push(`  ${(i === 0 ? title : '').padEnd(TITLE_WIDTH)}${value}`))
  }
  add('response', [`${status}${response.code === null ? '' : `${response.code}: `}${response.detail}`])
  if (response.allow !== null) add('allow', [response.allow.join(', ')])
  if (path === null) return lines.join('\n')
  add('path', [path])
  add('host', [`${host}${endpoint === null ? '' : ` at endpoint ${endpoint}`}`])
  add('client', [`${client.address || 'no address'}, ${client.origin}${client.isForwarded ? ', as a trusted proxy states' : ''}`])
  add('route', [route === null ? 'none' : titleOf(route)])
  add('policies', policies.length === 0 ? ['none'] : policies.map(policyText))
  if (route !== null) add('arguments', explanation.arguments.length === 0 ? ['none'] : explanation.arguments.map(argumentText))
  add('body', [bodyText(body)])
  add('limits', limitTexts(explanation.limits))
  const more = othersLeftOut === 0 ? [] : [`and ${othersLeftOut} more`]
  add('not', others.map((other) => `${titleOf(other)}: ${other.reasons.map(({ detail }) => detail).join('; ')}`).concat(more))
  return lines.join('\n')
}

function titleOf({ method, path, host, endpoint, source, isFallback }: ExplainedRoute): string {
  const facts = [...(isFallback || source === 'inline' ? [] : [source]), ...(endpoint === null ? [] : [`endpoint ${endpoint}`])]
  const text = `${isFallback ? 'fallback' : (method ?? 'any method')} ${host ?? ''}${path}`
  return facts.length === 0 ? text : `${text} (${facts.join(', ')})`
}

function policyText({ name, level, replaces, hooks }: ExplainedPolicy): string {
  const instead = replaces.length === 0 ? '' : `, in place of that of the ${replaces.join(' and the ')}`
  return `${name} (${level}${instead}): ${hooks.length === 0 ? 'nothing' : hooks.join(', ')}`
}

function argumentText({ name, in: place, expected, presence, received, failures, isChecked }: ExplainedArgument): string {
  const came = received === null ? `nothing${presence === 'required' ? '' : `, ${presence}`}` : JSON.stringify(received)
  const verdict = failures.length > 0 ? ', does not fit' : isChecked ? '' : ', not checked'
  return `${name} from the ${place}: ${expected}; received ${came}${verdict}`
}

function bodyText({ mode, length, contentType, accepts }: ExplainedBody): string {
  const accepted = accepts === null ? '' : `; accepts ${accepts.join(', ')}`
  if (mode === 'none') return `none${accepted}`
  const size = length === null ? 'of unknown length' : `of ${length} bytes`
  return `${mode}, ${contentType ?? 'without a type'}, ${size}${accepted}`
}

const DEFAULTS: Readonly<Record<string, number | null>> = { ...DEFAULT_LIMITS, ...DEFAULT_TIMEOUTS }

/** Those that differ from the defaults, and that of the body, which is asked for most. */
function limitTexts(limits: Explanation['limits']): string[] {
  return Object.entries(limits)
    .filter(([name, { value, level }]) => name === 'maxRequestBodySize' || level !== 'server' || value !== DEFAULTS[name])
    .map(([name, { value, level }]) => `${name} ${value ?? 'none'} (${level})`)
}
