// `weir openapi`, as a process.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { programFolder, runWeir } from '../support/command.ts'

const MODULE = JSON.stringify(new URL('../../../openapi/src/index.js', import.meta.url).href)

const program = (rest: string): string => `import { HttpServer, t } from 'weirjs'
  import { openapi } from ${MODULE}
  export const server = new HttpServer('127.0.0.1', 0)
  const info = { title: 'Shop', version: '1' }
  ${rest}
  server.mapGet('/users/:id', { id: t.int }, ({ id }) => ({ id }))`

test('writes the document, even where it is not served', (t) => {
  const folder = programFolder(t, { 'app.js': program(`process.env.NODE_ENV = 'production'; server.use(openapi({ info }))`) })
  const { code, out, err } = runWeir(folder, 'openapi', 'app.js')
  assert.deepEqual({ code, err }, { code: 0, err: '' })
  const { openapi, info, paths } = JSON.parse(out) as { openapi: string; info: object; paths: object }
  assert.deepEqual(
    { openapi, info, paths: Object.keys(paths) },
    { openapi: '3.1.1', info: { title: 'Shop', version: '1' }, paths: ['/users/{id}'] },
  )
})

test('writes one of several documents', (t) => {
  const several = `server.use(openapi({ info })).use(openapi({ info: { ...info, title: 'Second' }, name: 'second', path: '/2.json' }))`
  const folder = programFolder(t, { 'app.js': program(several) })
  assert.match(runWeir(folder, 'openapi', 'app.js', '--module', 'second').out, /"title": "Second"/)
  const { code, err } = runWeir(folder, 'openapi', 'app.js')
  assert.equal(code, 1)
  assert.match(err, /it has several documents: choose one with --module, openapi or second/)
  assert.match(runWeir(folder, 'openapi', 'app.js', '--module', 'third').err, /it has no module "third", only openapi, second/)
})

test('tells what a program lacks, and what strict refuses', (t) => {
  const folder = programFolder(t, {
    'none.js': program(''),
    'strict.js': program(`server.use(openapi({ info, strict: true })).map(null, '/any', () => 'x')`),
  })
  assert.match(runWeir(folder, 'openapi', 'none.js').err, /it installs no module of @weirjs\/openapi on its server/)
  const { code, out, err } = runWeir(folder, 'openapi', 'strict.js')
  assert.deepEqual({ code, out }, { code: 1, out: '' })
  assert.match(err, /ANY \/any \(inline\) is left out/)
})
