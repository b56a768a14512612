// An explanation as text, for people: one fact a line, what matters first.

import { visible } from '../../base/visible.ts'

import type {
  ExplainedAnswer,
  ExplainedArgument,
  ExplainedBody,
  ExplainedHostRule,
  ExplainedPolicy,
  ExplainedRoute,
  Explanation,
} from './explanation.ts'
import { limitText, setBy } from './limit-text.ts'

const TITLE_WIDTH = 11

/** A title, and one text or several. */
export type Fact = readonly [title: string, texts: readonly string[]]

export function textOf(explanation: Explanation): string {
  const lines = factsOf(explanation).flatMap(([title, texts]) =>
    texts.map((text, i) => `  ${(i === 0 ? title : '').padEnd(TITLE_WIDTH)}${visible(text)}`),
  )
  return [`${explanation.method} ${visible(explanation.target)}`, ...lines].join('\n')
}

/** All but method and target. */
export function factsOf(explanation: Explanation): Fact[] {
  const { response, rpc, path, basePath, host, hostRule, endpoint, client, route, others, othersLeftOut, policies, body, answers, limits } =
    explanation
  const facts: Fact[] = [
    ['response', [`${response.status ?? ''} ${response.code === null ? '' : `${response.code}: `}${response.detail}`.trim()]],
  ]
  if (response.allow !== null) facts.push(['allow', [response.allow.join(', ')]])
  if (rpc !== null) facts.push(['call', [`${rpc.system} ${rpc.method}${rpc.status === null ? '' : `: ${rpc.status}`}`]])
  if (path === null) return facts
  facts.push(
    ['path', [basePath === '' ? path : `${path} below ${basePath}`]],
    ['host', [`${host}${endpoint === null ? '' : ` at endpoint ${endpoint}`}`]],
    ['hosts', hostRule === null ? ['not known before it listens'] : [hostRuleText(hostRule)]],
    ['client', [`${client.address || 'no address'}, ${client.origin}${client.isForwarded ? ', as a trusted proxy states' : ''}`]],
    ['route', [route === null ? 'none' : titleOf(route)]],
    ['policies', policies.length === 0 ? ['none'] : policies.map(policyText)],
  )
  if (route !== null) facts.push(['arguments', explanation.arguments.length === 0 ? ['none'] : explanation.arguments.map(argumentText)])
  facts.push(['body', [bodyText(body)]])
  if (answers.length > 0) facts.push(['answers', [answers.map(answerText).join(', ')]])
  facts.push(['limits', limitTexts(limits)])
  const rejected = others.map((other) => `${titleOf(other)}: ${other.reasons.map(({ detail }) => detail).join('; ')}`)
  facts.push(['rejected', othersLeftOut === 0 ? rejected : [...rejected, `and ${othersLeftOut} more`]])
  return facts
}

function hostRuleText({ answered, isServed }: ExplainedHostRule): string {
  return isServed ? `${answered}` : `${answered}; over a socket, this host gets 421 WEIR_HOST_NOT_SERVED`
}

function titleOf({ method, path, host, endpoint, source, isFallback }: ExplainedRoute): string {
  const facts = [...(isFallback || source === 'inline' ? [] : [source]), ...(endpoint === null ? [] : [`endpoint ${endpoint}`])]
  const text = `${isFallback ? 'fallback' : (method ?? 'any method')} ${host ?? ''}${path}`
  return facts.length === 0 ? text : `${text} (${facts.join(', ')})`
}

function policyText({ name, level, replaces, hooks }: ExplainedPolicy): string {
  const instead = replaces.length === 0 ? '' : `, in place of ${replaces.map((one) => `the ${one}'s`).join(' and ')}`
  return `${name} (${level}${instead}): ${hooks.length === 0 ? 'nothing' : hooks.join(', ')}`
}

function argumentText({ name, in: place, expected, presence, received, misspelt, failures, isChecked }: ExplainedArgument): string {
  if (place === 'body') return `${name}: ${expected}, ${presence}${failures.length > 0 ? '; does not fit' : ''}`
  const came = received === null ? `nothing${presence === 'required' ? '' : `, ${presence}`}` : JSON.stringify(received)
  const verdict = failures.length > 0 ? ', does not fit' : isChecked ? '' : ', not checked'
  const hint = misspelt === null ? '' : `: was it meant by ${JSON.stringify(misspelt)}?`
  return `${name} from the ${place}: ${expected}; received ${came}${verdict}${hint}`
}

function bodyText({ mode, length, contentType, accepts }: ExplainedBody): string {
  const accepted = accepts === null ? '' : `; accepts ${accepts.join(', ')}`
  if (mode === 'none') return `none${accepted}`
  const size = length === null ? 'of unknown length' : `of ${length} bytes`
  return `${mode}, ${contentType ?? 'without a type'}, ${size}${accepted}`
}

function answerText({ status, body }: ExplainedAnswer): string {
  return `${status} ${body === null ? 'without a body' : `with ${body === 'json' ? 'JSON' : body}`}`
}

/** The limits that differ from their defaults, and the limit of the body, which readers look for most. */
function limitTexts(limits: Explanation['limits']): string[] {
  return Object.entries(limits)
    .map(([name, { value, level }]) => ({ name, value, by: setBy(name, value, level) }))
    .filter(({ name, by }) => name === 'maxRequestBodySize' || by !== 'default')
    .map(({ name, value, by }) => `${name} ${limitText(name, value)} (${by})`)
}
