// A process of its own that works on a database until it is killed: node sqlite-process.js <path> <name>. It prints a line for each thing that
// was confirmed.

import { systemClock } from '../../src/base/clock.ts'
import { rateLimit } from '../../src/modules/limits/index.ts'
import { sqliteStores } from '../../src/modules/sqlite/index.ts'
import { openDatabase } from './sqlite.ts'

const [path, name] = process.argv.slice(2)
const stores = sqliteStores(openDatabase(path!), { timeout: '30s' })
const limit = rateLimit({ quota: 500, window: '1d', store: stores.rateLimit })
const attempt = { owner: 'principal' as never, fingerprint: 'f', leaseMs: 60_000, ttlMs: 3_600_000, retriesUnknown: false }

/** Resolves when the line is on its way: what waits in this process is lost when it is killed. */
const print = (line: string): Promise<void> => new Promise((resolve) => process.stdout.write(`${line}\n`, () => resolve()))

for (let i = 0; ; i++) {
  const key = `${name}-${i}`
  await stores.sessions.write(key, `session ${key}`, 3_600_000)
  await print(`session ${key}`)
  await stores.idempotency.begin(key, { ...attempt, token: key }, systemClock)
  await stores.idempotency.finish(key, key, `outcome ${key}`, 3_600_000, systemClock)
  await print(`outcome ${key}`)
  if ((await limit.take('everybody')).isAllowed) await print(`taken ${key}`)
}
