// A server with an inherited socket is restarted under load, and no client loses a request. The long version is test/churn/restart.ts.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { load } from '../support/restart-load.ts'
import { SocketParent } from '../support/socket-parent.ts'

const RESTARTS = 3
const REQUESTS = 1_000
const skip = process.platform === 'linux' ? false : 'a descriptor can be looked up on Linux only'

for (const [name, isNewFirst] of [
  ['the old process stops, then the next one starts', false],
  ['the next process starts, then the old one stops', true],
] as const) {
  test(`restarts under load, where ${name}`, { skip }, async (t) => {
    const { parent, ports } = await SocketParent.open(t, [{ host: '127.0.0.1', port: 0 }])
    const start = () => parent.start({ options: { listen: 'inherited' } })
    let { pid } = await start()
    let isDone = false
    let answered = 0
    const ask = (keepsAlive: boolean) =>
      load({ port: ports[0]!, keepsAlive, clients: 8 }, (count) => {
        if (keepsAlive) answered = count
        return isDone && count >= REQUESTS
      })
    const loads = [ask(true), ask(false)]
    for (let i = 1; i <= RESTARTS; i++) {
      while (answered < (REQUESTS * i) / (RESTARTS + 1)) await new Promise((resolve) => setTimeout(resolve, 5))
      const old = pid
      if (!isNewFirst) assert.equal(await parent.stop(old), 0)
      ;({ pid } = await start())
      if (isNewFirst) assert.equal(await parent.stop(old), 0)
    }
    isDone = true
    for (const { lost, servers } of await Promise.all(loads)) assert.deepEqual({ lost, servers }, { lost: [], servers: RESTARTS + 1 })
    await parent.stop(pid, { graceMs: 0 })
  })
}
