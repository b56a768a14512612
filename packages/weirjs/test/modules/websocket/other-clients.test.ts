// Clients that share no code with those of clients.test.ts, each in a program of its own: two of Python, and the WebSocket of Node itself.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { type TestContext, test } from 'node:test'

import { HttpError, HttpServer } from '../../../src/index.ts'
import { websocket } from '../../../src/modules/websocket/index.ts'
import { echo } from '../../support/websocket-client.ts'

async function serve(t: TestContext): Promise<string> {
  const server = new HttpServer({ address: '127.0.0.1', port: 0, logger: null })
  server.use(websocket('/echo', { ...echo, protocols: ['v1'] }))
  server.use(websocket('/packed', { ...echo, perMessageDeflate: true }))
  server.use(websocket('/ends', { message: (socket) => socket.close(4001, 'enough') }))
  server.use(
    websocket('/refused', {
      accept() {
        throw new HttpError(403, 'not you')
      },
    }),
  )
  await server.start()
  t.after(() => server.stop({ grace: 0 }))
  return `ws://127.0.0.1:${server.port}`
}

/** What a program prints. */
async function saidBy(program: string, args: readonly string[]): Promise<unknown> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  for await (const piece of child.stdout) said += String(piece)
  return JSON.parse(said)
}

const fileOf = (name: string): string => resolve('packages/weirjs/test/support/websocket-programs', name)

/** A Python with a package, or null. Debian's own comes second: another one may stand before it on the PATH. */
function pythonWith(name: string): string | null {
  return ['python3', '/usr/bin/python3'].find((path) => spawnSync(path, ['-c', `import ${name}`]).status === 0) ?? null
}

for (const name of ['websockets', 'wsproto']) {
  const program = pythonWith(name)
  const skip = program === null && `Python has no ${name} here: install python3-${name} to run this test`
  test(`${name} for Python exchanges messages, is closed, closes and is refused`, { skip }, async (t) => {
    const url = await serve(t)
    assert.deepEqual(await saidBy(program!, [fileOf(`websocket-${name}.py`), url]), {
      subprotocol: 'v1',
      declined: [],
      echo: ['grüße', '00ff80', 300_000, 'in three fragments'],
      closed: [4000, 'bye'],
      extensions: ['permessage-deflate'],
      packed: 10,
      ended: [4001, 'enough'],
      refused: 403,
    })
  })
}

/** Until Node 22, it has to be asked for. */
const OWN = globalThis.WebSocket === undefined ? ['--experimental-websocket', '--no-warnings'] : []

test('the WebSocket of Node itself exchanges messages, is closed, closes and is refused', async (t) => {
  const url = await serve(t)
  assert.deepEqual(await saidBy(process.execPath, [...OWN, fileOf('websocket-node.mjs'), url]), {
    subprotocol: 'v1',
    declined: '',
    echo: ['grüße', '00ff80', 300_000, 'in one'],
    closed: [4000, 'bye'],
    extensions: 'permessage-deflate',
    packed: 10,
    ended: [4001, 'enough'],
    refused: 'refused',
  })
})
