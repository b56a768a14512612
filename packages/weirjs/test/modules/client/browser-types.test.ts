// A project for browsers, without the types of Node, can use the declarations of weirjs/client.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'

import { temporaryDirectory } from '../../support/temporary.ts'

const PROGRAM = `import { client, contract, events, file, get, header, mergePatch, multipart, pages, patch, Problem, post, t } from 'weirjs/client'
const User = t.object({ id: t.int, at: t.dateTime })
const Users = pages(User)
const api = contract({
  users: get('/users', { ...Users.query, answers: { 200: Users.result } }),
  change: patch('/users/:id', { id: t.int, body: mergePatch(User) }),
  user: get('/users/:id', { id: t.int, tenant: header('x-tenant', t.string), answers: { 200: User, 404: Problem } }),
  changes: get('/changes', { answers: { 200: events(User) } }),
  upload: post('/photos', { body: multipart({ files: { photo: file() } }) }),
})
const shop = client(api, '', { credentials: 'include' })
const answer = await shop.user({ id: 5, tenant: '' }, { signal: AbortSignal.timeout(5), priority: 'high' })
document.title = answer.status === 200 ? answer.body.at : answer.body.title
for await (const { data } of (await shop.changes()).body) document.title = data.at
await shop.upload({ body: { files: { photo: new File([], 'x') } } })
await shop.change({ id: 5, body: { at: '2026-01-31T12:00:00Z' } })
await shop.users({ limit: 5 })
// @ts-expect-error a number is declared
await shop.user({ id: '5', tenant: '' })
// @ts-expect-error a file is declared
await shop.upload({ body: { files: { photo: 'x' } } })
`

test('contracts and clients have their types with lib.dom alone', (t) => {
  const folder = temporaryDirectory(t)
  // Not a link: its target would find the types of Node in this repository.
  cpSync(resolve('packages/weirjs/dist'), join(folder, 'node_modules/weirjs/dist'), {
    recursive: true,
    filter: (path) => !/\.(?:js|map)$/.test(path),
  })
  for (const name of ['cookie']) cpSync(resolve('node_modules', name), join(folder, 'node_modules', name), { recursive: true })
  cpSync(resolve('packages/weirjs/package.json'), join(folder, 'node_modules/weirjs/package.json'))
  const compilerOptions = {
    ...{ target: 'es2022', lib: ['es2022', 'dom', 'dom.iterable'], types: [], module: 'esnext', moduleResolution: 'bundler' },
    ...{ strict: true, noEmit: true, skipLibCheck: false },
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  writeFileSync(join(folder, 'program.ts'), PROGRAM)
  const { stdout, stderr } = spawnSync(resolve('node_modules/.bin/tsc'), ['-p', folder], { encoding: 'utf8' })
  assert.equal(stdout + stderr, '')
})
