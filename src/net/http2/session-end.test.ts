import assert from 'node:assert/strict'
import { connect, createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'

import { takeEnds } from './session-end.ts'

for (const [what, code, isDestroyed] of [
  ['in order', 0, false],
  ['with an error', 2, true],
] as const) {
  test(`GOAWAY ${what}: nothing ends inside of the read that it came with`, async (t) => {
    const server = createServer()
    const ended = new Promise<readonly [inside: readonly boolean[], wasToldToFinish: boolean, later: boolean]>((resolve) => {
      server.on('session', (session) => {
        let wasToldToFinish = false
        const ends = takeEnds(session, () => {
          wasToldToFinish = true
        })
        t.after(() => ends.destroy())
        session.on('error', () => {})
        session.on('goaway', () => {
          // Behind what Node does about it, and still inside of the read.
          process.nextTick(() => {
            const inside = [session.closed, session.destroyed]
            setImmediate(() => resolve([inside, wasToldToFinish, session.destroyed]))
          })
        })
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.after(() => server.close())
    const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`).on('error', () => {})
    t.after(() => client.destroy())
    await new Promise((resolve) => client.once('remoteSettings', resolve))
    client.goaway(code)
    assert.deepEqual(await ended, [[false, false], !isDestroyed, isDestroyed])
  })
}
