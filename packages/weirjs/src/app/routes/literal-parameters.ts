// Parameters in the notation of other frameworks, `/users/{id}` or `/users/<id>`: here they are literal text, which no request matches.

import { type Logger, logWarning } from '../logger.ts'
import type { Route } from './route.ts'

const FOREIGN = /\{(\w+)[^{}/]*\}|<(\w+)>/g

/** Warns about each. A program that really means the text can percent-encode it. */
export function warnOfLiteralParameters(route: Route, logger: Logger | null): void {
  const { template, label, source } = route
  for (const [literal, inBraces, inBrackets] of template.text.matchAll(FOREIGN)) {
    const hint = `write ":${inBraces ?? inBrackets}" for a parameter, or "${encodeURIComponent(literal)}" for the text`
    logWarning(logger, `weir: "${literal}" in ${label} (${source}) is literal text: ${hint}`)
  }
}
