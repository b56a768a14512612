// Secrets of requests: problem documents, the page of `debug` and explanations show none of them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HttpServer, WeirError } from '../../src/index.ts'
import { FORMS } from './secret-forms.ts'
import { holdsSecret, mapRefusals, mapSecrets, sent } from './secret-routes.ts'

const ACCEPTED = { 'a problem document': 'application/json', 'a page': 'text/html' }
const AT_ONCE = 20
const WORLDS = { 'routes that answer': mapSecrets, 'routes that refuse': mapRefusals }

/** What the program has put in there itself: `detail` of an `HttpError` is meant for the client. */
const isOfProgram = (request: string): boolean => request.includes('/fail/')

for (const [world, map] of Object.entries(WORLDS))
  for (const debug of [false, true])
    test(`${world}: no error of a request has its secret, debug: ${debug}`, async (t) => {
      const server = new HttpServer({ address: '127.0.0.1', port: 0, logger: null, debug })
      map(server)
      await server.start()
      t.after(() => server.stop({ graceMs: 0 }))
      const left: string[] = []
      let errors = 0
      const asked = FORMS.flatMap(([name, request]) => Object.entries(ACCEPTED).map(([what, accept]) => ({ name, request, what, accept })))
      while (asked.length > 0) {
        const some = asked.splice(0, AT_ONCE)
        const responses = await Promise.all(
          some.map(({ request, accept }) => sent(server.port, request.replace('\r\n', `\r\nAccept: ${accept}\r\n`))),
        )
        for (const [i, { name, request, what }] of some.entries()) {
          const response = responses[i]!
          if ((map === mapSecrets && isOfProgram(request)) || !/^content-type: (?:application\/problem\+json|text\/html)/im.test(response))
            continue
          errors++
          if (holdsSecret(response)) left.push(`${name}: ${what}: ${shown(response)}`)
        }
      }
      assert.ok(errors > (map === mapRefusals ? 800 : 150), `${errors} errors`)
      assert.equal(left.length, 0, `${left.length} of ${errors}:\n${left.join('\n')}`)
    })

for (const [world, map] of Object.entries(WORLDS))
  test(`${world}: no explanation has a secret of its request`, async () => {
    const server = new HttpServer({ address: '127.0.0.1', port: 0, logger: null })
    map(server)
    const left: string[] = []
    let explained = 0
    for (const [name, request] of FORMS) {
      const explanation = await server.explain(parsed(request)).catch((error: unknown) => {
        if (error instanceof WeirError && error.code === 'WEIR_OPTION_INVALID') return null // no client could send it
        throw error
      })
      if (explanation === null) continue
      explained++
      for (const text of [String(explanation), JSON.stringify(explanation)]) if (holdsSecret(text)) left.push(`${name}: ${shown(text)}`)
    }
    assert.ok(explained > 300, `${explained} explanations`)
    assert.equal(left.length, 0, `${left.length} of ${explained}:\n${left.join('\n')}`)
  })

/** As `explain` takes it. */
function parsed(request: string): { method: string; url: string; headers: [string, string][]; body?: Buffer } {
  const [head = '', ...rest] = request.split('\r\n\r\n')
  const body = rest.join('\r\n\r\n')
  const [line = '', ...fields] = head.split('\r\n')
  const [method = '', url = ''] = line.split(' ')
  const headers = fields.map((field): [string, string] => {
    const colon = field.indexOf(':')
    return [field.slice(0, colon), field.slice(colon + 1).trim()]
  })
  return { method, url, headers, ...(body === '' ? {} : { body: Buffer.from(body, 'latin1') }) }
}

/** The places of it. */
function shown(text: string): string {
  return [...text.matchAll(/.{0,60}(?:hunter|SECRET).{0,30}/g)].map(([place]) => JSON.stringify(place)).join(' … ')
}
