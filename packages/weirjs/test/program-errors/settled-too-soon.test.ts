// Handlers that go on, or have gone on, beside their response: a form for which nothing waits, and a response in place of another.

import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'

import { HttpResponse, HttpServer, type HttpSession, type Middleware, type RouteOptions, saveTo, t } from '../../src/index.ts'
import { temporaryDirectory } from '../support/temporary.ts'

type Handle = (session: HttpSession) => unknown

function form(): FormData {
  const body = new FormData()
  body.append('title', 'Sea')
  body.append('file', new File(['hello'], 'a.txt'))
  return body
}

/** What a handler leads to in a test: the status, and the message of the error. */
async function inTest(handler: Handle, declaration: RouteOptions = {}, around: readonly Middleware[] = []): Promise<[number, string]> {
  let message = ''
  const server = new HttpServer({ logger: { error: (_message, error) => void (message = (error as Error).message) } })
  for (const one of around) server.use(one)
  server.mapPost('/', declaration, (_, session) => handler(session))
  const { status } = await server.inject({ method: 'POST', url: '/', body: form() })
  return [status, message]
}

/** What the logger of a server in production is told in two requests, and the last status. */
async function inProduction(handler: Handle): Promise<[number, readonly string[]]> {
  const lines: string[] = []
  const logger = { error: (message: string) => void lines.push(message), warn: (message: string) => void lines.push(message) }
  await using server = new HttpServer('127.0.0.1', 0, { logger })
  server.mapPost('/', (_, session) => handler(session))
  await server.start()
  const ask = () => fetch(`http://127.0.0.1:${server.port}/`, { method: 'POST', body: form() })
  await (await ask()).text()
  const last = await ask()
  await last.text()
  return [last.status, lines]
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 20))

test('a handler that does not wait for its form, or for a file of it', async (t) => {
  const directory = temporaryDirectory(t)
  const forgets: Readonly<Record<string, [Handle, RegExp]>> = {
    'a streamed form': [
      ({ request }) => void request.bodyMultipartStream({}),
      /nothing waits for bodyMultipartStream\(\), .*: write await bodyMultipartStream\(…\)$/,
    ],
    'a form in memory': [({ request }) => void request.bodyMultipart(), /nothing waits for bodyMultipart\(\)/],
    'a form that must be one': [({ request }) => void request.bodyFile(), /nothing waits for bodyFile\(\)/],
    'the body of a streaming route': [({ request }) => void request.bufferBody(), /nothing waits for bufferBody\(\)/],
    'then without return': [({ request }) => void request.bodyMultipartStream({}).then(pause, pause), /bodyMultipartStream/],
    'one that has settled in the meantime': [
      async ({ request }) => {
        request.bodyMultipart()
        await pause()
        return 'ok'
      },
      /bodyMultipart\(\)/,
    ],
    'one that has failed in the meantime': [
      async ({ request }) => {
        request.bodyMultipartStream({ maxParts: 1 })
        await pause()
        return 'ok'
      },
      /bodyMultipartStream\(\)/,
    ],
    'a file whose promise onFile does not return': [
      async ({ request }) => {
        await request.bodyMultipartStream({ onFile: (info, content) => void saveTo(directory, info, content, { extensions: ['.png'] }) })
        return 'ok'
      },
      /nothing waits for saveTo\(\)/,
    ],
  }
  for (const [what, [handler, says]] of Object.entries(forgets)) {
    const [status, message] = await inTest(handler, { body: 'stream' })
    assert.equal(status, 500, what)
    assert.match(message, says, what)
  }
})

test('a handler that waits for its form in whatever way', async (t) => {
  const directory = temporaryDirectory(t)
  const waits: Readonly<Record<string, Handle>> = {
    'await it': async ({ request }) => String(await request.bodyMultipartStream({})),
    'return it': ({ request }) => request.bodyMultipartStream({}),
    'then, with return': ({ request }) => request.bodyMultipart().then((read) => read?.fields.get('title')),
    'all at once': async ({ request }) => String(await Promise.all([request.bodyMultipartStream({}), pause()])),
    'files that are waited for together': async ({ request }) => {
      const files: Promise<unknown>[] = []
      await request.bodyMultipartStream({ onFile: (info, content) => void files.push(saveTo(directory, info, content)) })
      return String((await Promise.all(files)).length)
    },
    'a returned save': async ({ request }) =>
      String(await request.bodyMultipartStream({ onFile: (info, content) => saveTo(directory, info, content) })),
    'a stream that goes on': ({ request }) => {
      const reading = request.bodyMultipartStream({})
      return (async function* () {
        yield 'reading\n'
        yield String(await reading)
      })()
    },
  }
  for (const [what, handler] of Object.entries(waits)) {
    assert.deepEqual(await inTest(handler), [200, ''], what)
    assert.deepEqual(await inProduction(handler), [200, []], what)
  }
  const refuse: Handle = ({ request, response }) => {
    void request.bodyMultipartStream({})
    return response.status(403).text('no')
  }
  assert.deepEqual(await inTest(refuse), [403, ''], 'a refusal')
  assert.equal(readdirSync(directory).length, 6)
})

test('in production, a handler that does not wait for its form is a warning, once', async () => {
  const [status, lines] = await inProduction(({ request }) => void request.bodyMultipartStream({}))
  assert.equal(status, 204)
  assert.equal(lines.length, 1)
  assert.match(lines[0]!, /^weir: POST \/ \(inline\): its handler responds although nothing waits/)
})

test('a response of a handler in place of another', async () => {
  const replaces: Readonly<Record<string, Handle>> = {
    'two bodies': ({ response }) => void response.json({ a: 1 }).text('b'),
    'code after a 404': ({ response }) => {
      response.notFound('no such user')
      return { name: 'Ada' }
    },
    'code after a redirect': async ({ response }) => {
      response.redirect('/login')
      await pause()
      return 'secret'
    },
    'code after nothing': ({ response }) => {
      response.noContent()
      return { name: 'Ada' }
    },
    'a Response after a body': ({ response }) => {
      response.json({ a: 1 })
      return new Response('b')
    },
  }
  for (const [what, handler] of Object.entries(replaces)) {
    const [status, message] = await inTest(handler)
    assert.equal(status, 500, what)
    assert.match(
      message,
      /has set one response and then another, and only the last is sent: return the first, as in return response\.json/,
      what,
    )
  }
  const [status, lines] = await inProduction(replaces['two bodies']!)
  assert.equal(status, 200)
  assert.equal(lines.length, 1)
  assert.match(lines[0]!, /^weir: POST \/ \(inline\): its handler has set one response and then another/)
  const declared = { answers: { 200: t.object({ a: t.int }) } }
  assert.equal((await inTest(({ response }) => void response.json({ a: 1 }).json({ a: 2 }), declared))[0], 500)
})

test('what is no second response of a handler', async () => {
  const sends: Readonly<Record<string, [Handle, number, ...Middleware[]]>> = {
    'a status and a value': [({ response }) => response.status(201) && 'made', 201],
    'a response that is returned': [({ response }) => response.status(201).json({ a: 1 }), 201],
    'a redirect with a note': [({ response }) => response.redirect('/new').html('<a href="/new">here</a>'), 302],
    'a failure after all': [({ response }) => response.json({ a: 1 }) && response.notFound(), 404],
    'a response of its own': [() => new HttpResponse().text('x'), 200],
    'another response of middleware': [() => 'x', 200, async ({ response }, next) => (await next()) && response.text('y')],
    'what middleware has set before': [() => 'x', 200, ({ response }, next) => response.text('default') && next()],
    'an error that middleware catches': [
      async ({ response }) => {
        response.json({ a: 1 })
        throw new Error('too late')
      },
      400,
      async ({ response }, next) => {
        try {
          return await next()
        } catch {
          return response.status(400).text('caught')
        }
      },
    ],
    'an error that middleware catches at once': [
      ({ response }) => {
        response.json({ a: 1 })
        throw new Error('too late')
      },
      400,
      async ({ response }, next) => {
        try {
          return await next()
        } catch {
          return response.status(400).text('caught')
        }
      },
    ],
  }
  for (const [what, [handler, status, ...around]] of Object.entries(sends))
    assert.deepEqual(await inTest(handler, {}, around), [status, ''], what)
})
