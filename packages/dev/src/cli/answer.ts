// Runs in the process of a program: answers one question about its server, and ends the process. No server listens.

import { readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import type { HttpServer, InjectRequest } from 'weirjs'
import type { Explanation } from 'weirjs/explain'
import { dev } from 'weirjs/kit'

import { exportedServer } from './exported-server.ts'
import { limitsFactsOf } from './limits-facts.ts'
import type { Answers, AskedRequest, News, Question } from './messages.ts'
import { routeFactsOf } from './route-facts.ts'

/** How long a program that keeps running may take to start a server. */
const PATIENCE_MS = 10_000
const NO_SERVER = 'it exports no server as default, server or app, and has started none'
const REMEDY = ': export the server, or name its export with --export'

/** Waits for the first of two: the program starts a server, or its module is complete and exports one. */
export function answerQuestion(file: string, question: Question): void {
  let hasAnswered = false
  const say = (news: News): void => {
    if (hasAnswered) return
    hasAnswered = true
    process.send!(news, () => process.exit(0))
  }
  const giveUp = (reason: string): void => say({ weir: 'no-server', reason: `${file}: ${reason}` })
  const useServer = (server: HttpServer): Promise<void> => {
    process.channel?.ref() // the program may have nothing else to wait for
    return answerAbout(server, question).then(
      (answer) => say({ weir: 'answer', answer }),
      (error: Error) => giveUp(error.message),
    )
  }
  dev.replaceStart((server) => {
    void useServer(server)
    return new Promise(() => {}) // the program has nothing more to tell
  })
  process.once('beforeExit', () => giveUp(NO_SERVER + REMEDY))
  void setImmediate()
    .then(() => exportedServer(file, question.exportName))
    .then(
      (server) => {
        if (server !== null) return useServer(server)
        setTimeout(() => giveUp(`${NO_SERVER} within ${PATIENCE_MS / 1000} seconds${REMEDY}`), PATIENCE_MS).unref()
        return
      },
      (error: unknown) => giveUp(error instanceof Error ? error.message : String(error)),
    )
}

async function answerAbout(server: HttpServer, question: Question): Promise<Answers[Question['kind']]> {
  switch (question.kind) {
    case 'routes':
      return { routes: server.routes.map(routeFactsOf) }
    case 'limits':
      return { limits: limitsFactsOf(server) }
    case 'openapi':
      return { document: documentOf(server, question.module) }
    case 'explain': {
      const explanation = await explain(server, question.request)
      return { text: String(explanation), explanation: JSON.parse(JSON.stringify(explanation)) as Explanation }
    }
  }
}

/** @throws Error if the program has no such document */
function documentOf(server: HttpServer, module: string | null): string {
  const documents = dev.documentsOf(server)
  const names = [...documents.keys()]
  if (names.length === 0) throw new Error('it installs no module of @weirjs/openapi on its server: use(openapi({ info }))')
  if (module !== null && !documents.has(module)) throw new Error(`it has no module ${JSON.stringify(module)}, only ${names.join(', ')}`)
  if (module === null && names.length > 1) throw new Error(`it has several documents: choose one with --module, ${names.join(' or ')}`)
  return documents.get(module ?? names[0]!)!()
}

function explain(server: HttpServer, asked: AskedRequest): Promise<Explanation> {
  const { method, url, headers, endpoint, peer, isSecure } = asked
  return server.explain({
    method,
    url,
    ...contentOf(asked, headers),
    ...(endpoint === null ? {} : { endpoint }),
    ...(peer === null && !isSecure ? {} : { peer: { isSecure, ...(peer === null ? {} : { address: peer }) } }),
  })
}

/** The body and the fields, among them the type of the body. */
function contentOf({ data }: AskedRequest, headers: AskedRequest['headers']): Pick<InjectRequest, 'body' | 'headers'> {
  if (data === null) return { headers }
  const body = data.startsWith('@') ? readFileSync(data.slice(1)) : data
  if (headers.some(([name]) => name.toLowerCase() === 'content-type')) return { headers, body }
  const type = isJson(String(body)) ? 'application/json' : 'application/x-www-form-urlencoded'
  return { headers: [...headers, ['Content-Type', type]], body }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
