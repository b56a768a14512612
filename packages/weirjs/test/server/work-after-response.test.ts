// session.waitUntil: work goes on after the response, whatever carries it, and a stop waits for it.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { describe, type TestContext, test } from 'node:test'

import { HttpServer, type HttpSession, type ServerOptions } from '../../src/index.ts'
import { toNodeListener } from '../../src/node/index.ts'
import { connect } from '../../src/testing/index.ts'
import { responseOf } from '../support/http2-client.ts'
import { eventually, type Gate, gate } from '../support/serving.ts'

type Ask = (server: HttpServer, t: TestContext) => Promise<string>

const CARRIERS: Readonly<Record<string, readonly [ask: Ask, options?: ServerOptions]>> = {
  'HTTP/1.1': [
    async (server) => {
      await server.start()
      return (await fetch(`http://127.0.0.1:${server.port}/`)).text()
    },
  ],
  'HTTP/2': [
    async (server, t) => {
      await server.start()
      const client = connectHttp2(`http://127.0.0.1:${server.port}`)
      t.after(() => client.destroy())
      return (await responseOf(client.request({ ':path': '/' }))).body.toString()
    },
    { http2: 'cleartext' },
  ],
  fetch: [async (server) => (await server.fetch(new Request('http://localhost/'))).text()],
  inject: [async (server) => (await server.inject('/')).text()],
  'a test client': [async (server) => (await connect(server).get('/')).text()],
  'a server of Node': [
    async (server, t) => {
      const host = createServer(toNodeListener(server)).listen(0, '127.0.0.1')
      t.after(() => host.close())
      await new Promise((resolve) => host.once('listening', resolve))
      const { port } = host.address() as { port: number }
      return (await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } })).text()
    },
  ],
}

function serverWith(handler: (session: HttpSession) => unknown, options: ServerOptions = {}): { server: HttpServer; logged: unknown[][] } {
  const logged: unknown[][] = []
  const log = (...args: unknown[]): void => void logged.push(args)
  const server = new HttpServer({ address: '127.0.0.1', port: 0, logger: { error: log, warn: log }, ...options })
  server.mapGet('/', (_, session) => handler(session))
  return { server, logged }
}

describe('work after the response', () => {
  for (const [carrier, [ask, options]] of Object.entries(CARRIERS)) {
    test(`over ${carrier}: the client has its response before the work ends, and stop waits for it`, async (t) => {
      const work = gate()
      let isDone = false
      // Taken out of the session, as handlers do with its second argument.
      const { server, logged } = serverWith(({ waitUntil }) => {
        waitUntil(work.promise.then(() => void (isDone = true)))
        return 'thanks'
      }, options)
      t.after(() => server.stop({ grace: 0 }))
      assert.equal(await ask(server, t), 'thanks')
      let hasStopped = false
      const stopped = server.stop({ grace: Number.POSITIVE_INFINITY }).then((report) => {
        hasStopped = true
        return report
      })
      await eventually(() => server.stopping.aborted || !server.isListening, 'the stop')
      for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
      assert.deepEqual([isDone, hasStopped], [false, false])
      work.open()
      assert.deepEqual(await stopped, { aborted: 0 })
      assert.deepEqual([isDone, logged], [true, []])
    })

    test(`over ${carrier}: a failure is logged, and does not end the process`, async (t) => {
      const { server, logged } = serverWith((session) => {
        session.waitUntil(Promise.reject(new Error('the printer is on fire')))
        return 'thanks'
      }, options)
      t.after(() => server.stop({ grace: 0 }))
      assert.equal(await ask(server, t), 'thanks')
      await server.stop()
      assert.equal(logged.length, 1)
      assert.match(String(logged[0]![0]), /^weir: the work of GET \/ after its response failed \(request /)
      assert.equal((logged[0]![1] as Error).message, 'the printer is on fire')
    })
  }

  test('work that adds work is waited for as a whole', async () => {
    const order: string[] = []
    const { server } = serverWith((session) => {
      const first = gate()
      session.waitUntil(
        first.promise.then(() => {
          order.push('first')
          session.waitUntil(new Promise((resolve) => setImmediate(resolve)).then(() => void order.push('second')))
        }),
      )
      setImmediate(() => first.open())
      return 'thanks'
    })
    await server.inject('/')
    await server.stop()
    assert.deepEqual(order, ['first', 'second'])
  })

  test('stop does not wait longer than grace, and says what it has left', async () => {
    const works: Gate[] = []
    const { server, logged } = serverWith((session) => {
      const work = gate()
      works.push(work)
      session.waitUntil(work.promise)
      return 'thanks'
    })
    await server.inject('/')
    await server.inject('/')
    await server.stop({ grace: 1 })
    assert.match(String(logged[0]![0]), /^weir: 2 of what was passed to session\.waitUntil had not ended when the grace of stop was over$/)
    works[0]!.open()
    await server.inject('/')
    const stopped = server.stop({ grace: Number.POSITIVE_INFINITY })
    await server.stop({ grace: 0 }) // a second call shortens the time
    await stopped
    assert.match(String(logged[1]![0]), /^weir: 2 of /)
  })

  test('anything but a promise is an error of the program', async () => {
    const { server, logged } = serverWith((session) => session.waitUntil((async () => {}) as never))
    assert.equal((await server.inject('/')).status, 500)
    assert.match(String(logged[0]![1]), /waitUntil\(\): the work is a function, not a promise: call the function/)
  })

  test('a platform that calls fetch with a waitUntil of its own gets the work', async () => {
    class Context {
      readonly works: unknown[] = []
      waitUntil(work: Promise<unknown>): void {
        this.works.push(work)
      }
    }
    const { server } = serverWith((session) => {
      session.waitUntil(Promise.resolve('done'))
      return session.clientAddress
    })
    const context = new Context()
    await server.fetch(new Request('http://localhost/'), context)
    assert.deepEqual(await Promise.all(context.works), ['done'])
    const works: Promise<unknown>[] = []
    const options = { peer: { address: '10.1.2.3' }, waitUntil: (work: Promise<unknown>) => void works.push(work) }
    assert.equal(await (await server.fetch(new Request('http://localhost/'), options)).text(), '10.1.2.3')
    assert.deepEqual(await Promise.all(works), ['done'])
  })
})
