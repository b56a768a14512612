// Many wrong passwords at once, and somebody who knows theirs.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'

import { HttpServer } from '../../../src/index.ts'
import { auth, basic, PasswordHasher } from '../../../src/modules/auth/index.ts'

test('while 200 wrong logins of one network wait, those of another network are served', async () => {
  const password = await new PasswordHasher({ ln: 8, r: 8, p: 1 }).hash('right')
  const server = new HttpServer({ logger: null }).use(auth({ schemes: [basic({ users: { ann: password }, allowInsecure: true })] }))
  server.mapGet('/', () => 'done')
  const order: number[] = []
  const statusOf = async (address: string, guess: string): Promise<number> => {
    const headers = { Authorization: `Basic ${Buffer.from(`ann:${guess}`).toString('base64')}` }
    const { status } = await server.fetch(new Request('http://localhost/', { headers }), { peer: { address, port: 1 } })
    order.push(status)
    return status
  }
  const flood = Array.from({ length: 200 }, (_, i) => statusOf(`2001:db8::${i.toString(16)}`, `wrong ${i}`))
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(await Promise.all([statusOf('192.0.2.1', 'right'), statusOf('192.0.2.2', 'guess')]), [200, 401])
  const before = order.filter((status) => status === 401).length
  assert.ok(before < 50, `${before} wrong ones came before`)
  const refused = (await Promise.all(flood)).filter((status) => status === 503).length
  assert.ok(refused >= 90, `${refused} were refused`)
})
