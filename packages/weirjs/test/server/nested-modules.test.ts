// Modules that consist of other modules, and of groups.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer, type Module, t } from '../../src/index.ts'

const health: Module = {
  name: 'health',
  install(host) {
    host.mapGet('/health', () => 'ok')
  },
}

const admin: Module = {
  name: 'admin',
  install(host) {
    host.use(health)
    const group = host.group('/admin/:org', { org: t.int, metadata: { role: 'admin' } })
    group.mapGet('/:id', { id: t.int }, ({ org, id }, { metadata }) => `${org + id} ${metadata['role']}`)
    group.group('/deep').use(health)
  },
}

test('a module installs another one, and maps groups', async () => {
  const server = new HttpServer({ logger: null }).use(admin)
  for (const [url, text] of Object.entries({ '/health': 'ok', '/admin/2/3': '5 admin', '/admin/2/deep/health': 'ok' }))
    assert.equal((await server.inject(url)).text(), text)
})

test('on a group, below its prefix', async () => {
  const server = new HttpServer({ logger: null })
  server.group('/api').use(admin)
  assert.equal((await server.inject('/api/admin/2/3')).text(), '5 admin')
})

test('one that installs itself, or one that is installed already, is refused', () => {
  const loop: Module = { name: 'loop', install: (host) => void host.use(loop) }
  assert.throws(() => new HttpServer().use(loop), {
    code: 'WEIR_SERVER_STATE',
    message: /module "loop" is already installed: leave one out, or set its option `name`, if any$/,
  })
  assert.throws(() => new HttpServer().use(health).use(admin), { code: 'WEIR_SERVER_STATE', message: /"health"/ })
})

test('one that has failed can be installed again', async () => {
  let fails = true
  const flaky: Module = {
    name: 'flaky',
    install(host) {
      if (fails) throw new Error('not now')
      host.mapGet('/', () => 'ok')
    },
  }
  const server = new HttpServer({ logger: null })
  assert.throws(() => server.use(flaky), /not now/)
  fails = false
  assert.equal((await server.use(flaky).inject('/')).text(), 'ok')
})
