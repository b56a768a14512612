// Warns about routes that are valid, but hardly what the program means. They are warnings, because the program may have a reason.

import { isMeant } from '../../base/options.ts'
import { Pairs } from '../../formats/pairs.ts'
import { RequestHeaders } from '../../http/request/headers.ts'
import { asSchema } from '../../schema/foreign.ts'
import type { Route } from './route.ts'

/** Parameters in the notation of other frameworks: `/users/{id}` or `/users/<id>`. */
const FOREIGN_PARAMETER = /\{(\w+)[^{}/]*\}|<(\w+)>/g
/** `const { name } = request.body`, which the compiler refuses, and which is undefined in JavaScript. */
const DESTRUCTURED_BODY = /\{([^{}=]*)\}\s*=\s*(?:\w+\.)*request\.body\b(?!\s*[.([])/
/** `({ body }) => …`: the body as a property of the first argument, under its own name. */
const BOUND_BODY = /^(?:async\s*)?(?:function\b[^(]*)?\(\s*\{(?:[^{}]*,)?\s*body\b/

/** `request.query.page` or `request.query['page']`: a property of what is a collection, a text or a number, or not there at all. */
const MISREAD = /\breq(?:uest)?\.(body|query|headers|cookies|params)\b(?:\??\.([A-Za-z_$][\w$]*)|(?:\?\.)?\[\s*(['"`])([^'"`\\]+)\3\s*\])/g
/** `const { page } = request.query` */
const DESTRUCTURED = /\{\s*([\w$]+)[^{}]*\}\s*=\s*(?:\w+\.)*request\.(query|headers|cookies|params)\b(?!\s*[.([])/g
/** `(req, res) => …`, as in other frameworks. */
const FOREIGN_HANDLER = /^(?:async\s*)?(?:function\b[^(]*)?\(\s*(req\w*)\s*,\s*(res\w*|reply)\b/
/** `response.status = 404` */
const ASSIGNED = /\bres(?:ponse)?\.(status|header|json|cookie|contentType)\s*=(?![=>])/g
/** What these are, and how to read a part of them. */
const READ_BY: Readonly<Record<string, readonly [prototype: object, how: (name: string) => string]>> = {
  body: [
    String.prototype,
    (name) => `declare the body, as in { body: t.object({ ${keyOf(name)}: t.string }) }, or read request.bodyJson()`,
  ],
  query: [Pairs.prototype, (name) => `declare the parameter, or write request.query.get(${JSON.stringify(name)})`],
  headers: [RequestHeaders.prototype, (name) => `write request.header(${JSON.stringify(name)})`],
  cookies: [Number.prototype, (name) => `write request.cookie(${JSON.stringify(name)})`],
  params: [Object.create(null), (name) => `take ${keyOf(name)} from the first argument, or write request.routeValues`],
}

/** Warnings about a mapped route. */
export function mappingWarnings(route: Route): readonly string[] {
  return [
    ...literalParameters(route),
    ...misspeltParameters(route),
    ...foreignHandler(route),
    ...misreadBody(route),
    ...misreadParts(route),
    ...assignedMethods(route),
  ]
}

function foreignHandler({ handlerText, label, source }: Route): string[] {
  const [, request, response] = FOREIGN_HANDLER.exec(handlerText) ?? []
  if (request === undefined) return []
  return [
    `the handler of ${label} (${source}) takes (${request}, ${response}), and gets (args, session): write (args, { request, response }) => …`,
  ]
}

/** The compiler refuses these, and they are undefined in JavaScript. A `Request` of the Web has other properties. */
function misreadParts({ handlerText, label, source }: Route): string[] {
  if (handlerText.includes('toWeb(')) return []
  const reads = [...handlerText.matchAll(MISREAD)].map(([, of = '', property, , key = '']) => [of, property ?? key] as const)
  const taken = [...handlerText.matchAll(DESTRUCTURED)].map(([, name = '', of = '']) => [of, name] as const)
  const said = [...reads, ...taken].flatMap(([of, name]) => {
    const [prototype, how] = READ_BY[of]!
    return name in prototype ? [] : `"${name}" of request.${of} in ${label} (${source}) is undefined: ${how(name)}`
  })
  return [...new Set(said)]
}

/** The assignment has no effect. */
function assignedMethods({ handlerText, label, source }: Route): string[] {
  const assigned = [...handlerText.matchAll(ASSIGNED)]
  return assigned.map(([, name]) => `"${name}" of the response in ${label} (${source}) is a method: write response.${name}(…)`)
}

function keyOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
}

/**
 * Required parameters of the query that were probably meant for the path. In a query, an additional letter is often on purpose: `/users/:id` may
 * have `ids`, but then they are a list or optional.
 */
function misspeltParameters({ bindings, place }: Route): string[] {
  const all = Object.values(bindings)
  return all.flatMap(({ name, schema, source }) => {
    const own = source === 'query' && schema !== null ? asSchema(schema) : null
    if (own?.reads !== 'text' || !own.isRequired('input')) return []
    const meant = all.find(
      (one) => one.source === 'path' && one.schema === null && (isMeant(one.name, name) || one.name === name.slice(0, -1)),
    )
    return meant ? [`"${name}" of ${place} is read from the query: if ":${meant.name}" of the path is meant, write "${meant.name}"`] : []
  })
}

/** Literal text, which no request matches. A program that really means the text can percent-encode it. */
function literalParameters({ template, label, source }: Route): string[] {
  return [...template.text.matchAll(FOREIGN_PARAMETER)].map(([literal, inBraces, inBrackets]) => {
    const hint = `write ":${inBraces ?? inBrackets}" for a parameter, or "${encodeURIComponent(literal)}" for the text`
    return `"${literal}" in ${label} (${source}) is literal text: ${hint}`
  })
}

function misreadBody({ handlerText, label, source, method, body, bindings }: Route): string[] {
  if (method?.startsWith('P') && body === null && !('body' in bindings) && BOUND_BODY.test(handlerText))
    return [`"body" of the first argument of ${label} (${source}) is undefined: declare the body, as in { body: t.object({ … }) }`]
  const [, names] = DESTRUCTURED_BODY.exec(handlerText) ?? []
  const [name] = /[\w$]+/.exec(names ?? '') ?? []
  if (name === undefined) return []
  const hint = `declare the body, as in { body: t.object({ ${name}: t.string }) }, and take it from the first argument`
  return [`"${name}" of request.body in ${label} (${source}) is undefined, because the body is text there: ${hint}`]
}
