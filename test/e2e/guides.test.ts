// Programs of the guides that need packages which only the benchmarks install.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { resolve } from 'node:path'
import { test } from 'node:test'

const PACKAGES = resolve('bench/node_modules')
/** Below the repository, so that the package refers to itself by its name. */
const FOLDER = 'build/guides'

const FASTIFY_APP = `import Fastify from 'fastify'
export const app = Fastify()
app.get('/users/:id', async () => 'old')
app.get('/orders', async () => ['old'])
`

/** The program below "Moving one route at a time". */
function programOf(page: string): string {
  const text = readFileSync(page, 'utf8')
  const part = text.slice(text.indexOf('## Moving one route at a time'))
  const [, program] = /^```js\n([\s\S]*?)^```$/m.exec(part) ?? assert.fail(`${page} has no program`)
  return program!
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

async function answerOf(url: string): Promise<string> {
  for (let i = 0; ; i++)
    try {
      return await (await fetch(url)).text()
    } catch (error) {
      if (i === 100) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
}

const skip = existsSync(`${PACKAGES}/fastify`) ? false : 'fastify is not in bench/node_modules'
test('a Fastify application whose routes move one at a time', { skip }, async (t) => {
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  t.after(() => rmSync(FOLDER, { recursive: true, force: true }))
  symlinkSync(PACKAGES, `${FOLDER}/node_modules`)
  const port = await freePort()
  const program = programOf('docs/guide/from-fastify.md')
  assert.match(program, /'127\.0\.0\.1', 3000/)
  writeFileSync(`${FOLDER}/main.js`, program.replace('3000', String(port)))
  writeFileSync(`${FOLDER}/fastify-app.js`, FASTIFY_APP)
  const child = spawn(process.execPath, [`${FOLDER}/main.js`], { stdio: ['ignore', 'ignore', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const base = `http://127.0.0.1:${port}`
  assert.equal(await answerOf(`${base}/users/5`), '{"id":5}')
  assert.equal(await answerOf(`${base}/orders`), '["old"]')
  assert.equal((JSON.parse(await answerOf(`${base}/none`)) as { statusCode: number }).statusCode, 404)
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  assert.deepEqual(await gone, [0, null])
})
