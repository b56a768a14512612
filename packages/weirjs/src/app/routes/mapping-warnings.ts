// Warns about routes that are valid, but hardly what the program means. They are warnings, because the program may have a reason.

import type { Route } from './route.ts'

/** Parameters in the notation of other frameworks: `/users/{id}` or `/users/<id>`. */
const FOREIGN_PARAMETER = /\{(\w+)[^{}/]*\}|<(\w+)>/g
/** `const { name } = request.body`, which the compiler refuses, and which is undefined in JavaScript. */
const DESTRUCTURED_BODY = /\{([^{}=]*)\}\s*=\s*(?:\w+\.)*request\.body\b(?!\s*[.([])/
/** `({ body }) => …`: the body as a property of the first argument, under its own name. */
const BOUND_BODY = /^(?:async\s*)?(?:function\b[^(]*)?\(\s*\{(?:[^{}]*,)?\s*body\b/

/** Warnings about a mapped route. */
export function mappingWarnings(route: Route): readonly string[] {
  return [...literalParameters(route), ...misreadBody(route)]
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
