// Programs of the guides that need packages which only the benchmarks or the matrix of guests install.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { basename, join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'

/** Below the repository, so that the package refers to itself by its name. */
const FOLDER = 'build/guides'

const FASTIFY_APP = `import Fastify from 'fastify'
export const app = Fastify()
app.get('/users/:id', async () => 'old')
app.get('/orders', async () => ['old'])
`

/** Nest's decorators are called, because they need a compiler. */
const NEST_APP = `import 'reflect-metadata'
import { Controller, Get, Module } from '@nestjs/common'
class Cats {
  one() { return { from: 'Nest' } }
  all() { return ['old'] }
}
for (const [name, path] of [['one', ':id'], ['all', '']]) Get(path)(Cats.prototype, name, Object.getOwnPropertyDescriptor(Cats.prototype, name))
Controller('cats')(Cats)
export class AppModule {}
Module({ controllers: [Cats] })(AppModule)
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

async function responseOf(url: string): Promise<string> {
  for (let i = 0; ; i++)
    try {
      return await (await fetch(url)).text()
    } catch (error) {
      if (i === 100) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
}

/** Runs the program of the page with that application and these packages, until the test ends. @returns its URL, and how to stop it */
async function start(t: TestContext, page: string, packages: string, file: string, app: string): Promise<[string, () => Promise<unknown>]> {
  const folder = join(FOLDER, basename(page, '.md'))
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  symlinkSync(resolve(packages), join(folder, 'node_modules'))
  const port = await freePort()
  const program = programOf(page)
  assert.match(program, /'127\.0\.0\.1', 3000/)
  writeFileSync(join(folder, 'main.js'), program.replace('3000', String(port)))
  writeFileSync(join(folder, file), app)
  const child = spawn(process.execPath, [join(folder, 'main.js')], { stdio: ['ignore', 'ignore', 'inherit'] })
  t.after(() => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  const stop = (): Promise<unknown> => {
    const gone = once(child, 'exit')
    child.kill('SIGTERM')
    return gone
  }
  return [`http://127.0.0.1:${port}`, stop]
}

const without = (path: string): string | false => (existsSync(path) ? false : `${path} is not installed`)

const FASTIFY = 'bench/node_modules'
test('a Fastify application whose routes move one at a time', { skip: without(`${FASTIFY}/fastify`) }, async (t) => {
  const [base, stop] = await start(t, 'docs/guide/from-fastify.md', FASTIFY, 'fastify-app.js', FASTIFY_APP)
  assert.equal(await responseOf(`${base}/users/5`), '{"id":5}')
  assert.equal(await responseOf(`${base}/orders`), '["old"]')
  assert.equal((JSON.parse(await responseOf(`${base}/none`)) as { statusCode: number }).statusCode, 404)
  assert.deepEqual(await stop(), [0, null])
})

const NEST = 'test/guests/node_modules'
test('a Nest application whose routes move one at a time', { skip: without(`${NEST}/@nestjs`) }, async (t) => {
  const [base, stop] = await start(t, 'docs/guide/from-nest.md', NEST, 'app.module.js', NEST_APP)
  assert.equal(await responseOf(`${base}/cats/5`), '{"id":5}')
  assert.equal(await responseOf(`${base}/cats`), '["old"]')
  assert.equal((JSON.parse(await responseOf(`${base}/none`)) as { statusCode: number }).statusCode, 404)
  assert.deepEqual(await stop(), [0, null])
})
