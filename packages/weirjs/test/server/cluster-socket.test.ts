// A Unix socket in a worker of node:cluster: the primary binds it, later than a server would.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

import { RawClient } from '../support/raw-client.ts'
import { within } from '../support/serving.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const skip = process.platform === 'win32'

/** Starts a server in a worker. @returns what the worker reports about the start */
async function startWorker(t: TestContext, folder: string, options: string): Promise<string> {
  const file = join(folder, 'worker.mjs')
  writeFileSync(
    file,
    `import cluster from 'node:cluster'
    import { HttpServer } from ${JSON.stringify(new URL('../../src/index.js', import.meta.url).href)}
    if (cluster.isPrimary) cluster.fork().once('message', (text) => console.log(text))
    else {
      const server = new HttpServer({ listen: [${options}] })
      server.mapGet('/', () => 'hello')
      await server.start().then(() => process.send('started'), (error) => process.send(error.code))
    }`,
  )
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(async () => {
    child.kill()
    await once(child, 'exit')
  })
  const [said] = (await within(once(child.stdout, 'data'), 'the report of the worker')) as [Buffer]
  return said.toString().trim()
}

test('has the requested mode', { skip }, async (t) => {
  const folder = temporaryDirectory(t)
  const unixSocket = join(folder, 'server.sock')
  assert.equal(await startWorker(t, folder, JSON.stringify({ unixSocket, mode: 0o620 })), 'started')
  assert.equal(statSync(unixSocket).mode & 0o777, 0o620)
  const client = await RawClient.connect({ path: unixSocket })
  assert.equal((await client.get('/').message()).text, 'hello')
  client.destroy()
})
