// The `weir` command as a newcomer runs it: with npx, from the packed packages.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { installPacked, nodeForTypeScript, run, userEnvironment } from '../../packages/weirjs/test/support/packed-package.ts'
import { temporaryDirectory } from '../../packages/weirjs/test/support/temporary.ts'

const skip = process.platform === 'win32' && 'the commands are for a Unix shell'

const PROGRAM = `import { HttpServer } from 'weirjs'
const server = new HttpServer('127.0.0.1', 0)
server.mapGet('/hello/:name', ({ name }) => 'Hello ' + name)
await server.run()
`

test('npx @weirjs/dev routes, explain and limits work in an empty folder', { skip }, (t) => {
  const folder = temporaryDirectory(t)
  installPacked(folder, 'dev')
  writeFileSync(join(folder, 'app.js'), PROGRAM)
  assert.equal(run('npx', ['@weirjs/dev', 'routes', 'app.js'], folder), 'METHOD  PATH          HANDLER\nGET     /hello/:name  inline\n')
  assert.match(run('npx', ['@weirjs/dev', 'explain', 'app.js', '/hello/you'], folder), /the handler of GET \/hello\/:name answers/)
  assert.match(run('npx', ['@weirjs/dev', 'limits', 'app.js'], folder), /^keepAliveTimeout {10}30 s {5}default$/m)
  const node = nodeForTypeScript()
  if (node === null) return t.diagnostic('TypeScript needs Node 22.18, or that of npm ci --prefix test/package')
  writeFileSync(join(folder, 'app.ts'), PROGRAM.replace('const server', 'const server: HttpServer'))
  assert.match(run('npx', ['@weirjs/dev', 'routes', 'app.ts'], folder, userEnvironment(node)), /GET {5}\/hello\/:name/)
})
