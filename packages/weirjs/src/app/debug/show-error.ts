// Errors as `debug` shows them: problem documents with an explanation, and pages for browsers.

import type { Exchange } from '../../http/exchange.ts'
import { OTHER_METHODS } from '../../http/notes.ts'
import { prefersHtml } from '../../http/request/prefers-html.ts'
import type { OutgoingResponse } from '../../http/response/outgoing-response.ts'
import type { Problem } from '../../http/response/problem.ts'
import { MOST_UNTOLD, untold } from '../../http/work-turns.ts'
import { type ExplainedServer, explain } from '../explain/explain.ts'
import type { Explanation } from '../explain/explanation.ts'
import { consideredRoutes } from '../routes/considered-routes.ts'
import type { Route } from '../routes/route.ts'
import { Secrets } from '../routes/shown-target.ts'
import { ShownTexts } from '../routes/shown-texts.ts'
import { errorPage, PAGE_FIELDS } from './error-page.ts'

/** Statuses whose reason is often in the routes and their declarations. */
const EXPLAINED: ReadonlySet<number> = new Set([400, 404, 405, 413, 415])

/** Replaces the content of a response that is a problem document. @returns a promise where the response becomes a page */
export function showError(
  server: ExplainedServer,
  exchange: Exchange,
  response: OutgoingResponse,
  sent: Problem,
): OutgoingResponse | Promise<OutgoingResponse> {
  // The page that receives it may belong to a stranger who uses a host name of their own, and could read the explanation.
  if (sent.code === 'WEIR_HOST_NOT_SERVED') return response
  const explanation = explanationOf(server, exchange, sent)
  const isLost = sent.code === 'WEIR_ROUTE_NOT_FOUND' && explanation?.response.code === sent.code
  const problem = isLost ? { ...sent, detail: explanation.response.detail } : sent // the explanation may suggest another path
  if (prefersHtml(exchange.head.get('accept'))) return showPage(server, exchange, response, problem, explanation)
  response.vary('Accept')
  return EXPLAINED.has(problem.status) ? response.sendProblem({ ...problem, explanation }) : response
}

/** Code that helps to find an error must not cause another one. */
function explanationOf(server: ExplainedServer, exchange: Exchange, { status }: Problem): Explanation | null {
  const { head, connection, failure } = exchange
  const otherMethods = exchange.note(OTHER_METHODS) ?? []
  untold.work += MOST_UNTOLD // all routes are compared, so each connection asks whether it may read on
  try {
    return explain(server, { head, connection, refusal: null, otherMethods, content: null, application: null }, { status, error: failure })
  } catch {
    return null
  }
}

async function showPage(
  { routes }: ExplainedServer,
  exchange: Exchange,
  response: OutgoingResponse,
  problem: Problem,
  explanation: Explanation | null,
): Promise<OutgoingResponse> {
  const { head, match, failure } = exchange
  const secrets = new Secrets(consideredRoutes(routes, head.path), match.route as Route | null)
  const texts = new ShownTexts(routes)
  const page = await errorPage({ problem, error: failure, exchange, explanation, secrets, texts })
  if (response.isTaken) return response // the request has timed out
  response.removeHeader('Content-Type').html(page).vary('Accept')
  for (const [name, value] of Object.entries(PAGE_FIELDS)) response.header(name, value)
  return response
}
