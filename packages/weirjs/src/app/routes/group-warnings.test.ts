import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Route } from './route.ts'
import { RouteTable } from './route-table.ts'
import { Scope } from './scope.ts'
import { splitDeclaration } from './split-declaration.ts'

function login(): void {}
function quota(): void {}

/** What is logged when a server starts whose groups and routes a case makes. */
function warningsOf(declare: (make: Make) => void): readonly string[] {
  const table = new RouteTable()
  table.composeWith(() => () => assert.fail())
  const group = (prefix: string, declaration: object = {}, outer = table.root): Scope => {
    const scope = new Scope(outer, 'group', prefix, splitDeclaration(declaration, 'group', prefix))
    table.addGroup(scope)
    return scope
  }
  const get = (path: string, scope = table.root, declaration: object = {}): void =>
    table.addAll([new Route(scope, 'GET', path, declaration, () => {})])
  declare({ table, group, get })
  return table.checkStart(new Set())
}

interface Make {
  readonly table: RouteTable
  readonly group: (prefix: string, declaration?: object, outer?: Scope) => Scope
  readonly get: (path: string, scope?: Scope, declaration?: object) => void
}

const GUARDED = { use: [{ gate: login }] }

test('a second group of the same path has none of the policies of the first', () => {
  const warned = warningsOf(({ group, get }) => {
    get('/admin', group('/admin', { use: [{ gate: login }, { name: 'quota', gate: quota }] }))
    const second = group('/admin/')
    get('/admin/users', second)
    get('/admin/roles', second)
    get('/admins')
  })
  assert.deepEqual(warned, [
    'GET /admin/users (inline) is without login, quota of group("/admin"): map it on the same group or, if all may pass, on the server (docs/guide/traps.md)',
  ])
})

test('policies of a group on which nothing is mapped apply to nothing', () => {
  const [warned, ...others] = warningsOf(({ group, get }) => {
    group('/admin', { use: [login] })
    get('/admin/users')
    group('/elsewhere', GUARDED)
  })
  assert.match(warned!, /^GET \/admin\/users \(inline\) is without login of group\("\/admin"\):/)
  assert.deepEqual(others, [])
})

test('an inner group is another group as well', () => {
  const warned = warningsOf(({ group, get }) => {
    const api = group('/api', { use: [{ name: 'quota', gate: quota }] })
    get('/api/admin', group('/api/admin', GUARDED, api))
    get('/api/admin/users', group('/api/admin', {}, api))
  })
  assert.match(String(warned), /^GET \/api\/admin\/users \(inline\) is without login of group\("\/api\/admin"\)/)
})

const MEANT: Readonly<Record<string, (make: Make) => void>> = {
  'routes of the server beside a group': ({ group, get }) => {
    get('/admin', group('/admin', GUARDED))
    get('/admin/login')
  },
  'an open group before the guarded one': ({ group, get }) => {
    get('/notes', group('/notes'))
    get('/notes/mine', group('/notes', GUARDED))
  },
  'a guarded group inside an open one': ({ group, get }) => {
    const open = group('/notes')
    get('/notes/mine', group('/notes', GUARDED, open))
    get('/notes', open)
  },
  'a second group with policies of its own': ({ group, get }) => {
    get('/admin', group('/admin', GUARDED))
    get('/admin/users', group('/admin', { use: [{ gate: quota }] }))
  },
  'a route with policies of its own': ({ group, get }) => {
    get('/admin', group('/admin', GUARDED))
    get('/admin/users', group('/admin'), GUARDED)
  },
  'policies that only change responses': ({ group, get }) => {
    get('/pages', group('/pages', { use: [{ beforeSend() {} }, { name: 'cache', middleware: () => {} }] }))
    get('/pages/new', group('/pages'))
  },
  'a policy in place of an outer one': ({ table, group, get }) => {
    const outer = { name: 'quota', gate: quota }
    table.root.use(splitDeclaration({ use: [outer] }, 'group', '').policies[0]!)
    get('/a', group('/a', { use: [{ name: 'quota', gate: login }] }))
    get('/a/b', group('/a'))
  },
  'groups of other hosts': ({ group, get }) => {
    get('/admin', group('/admin', { ...GUARDED, host: 'A.example.org' }))
    get('/admin/users', group('/admin', { host: 'b.example.org' }))
  },
  'a group for files': ({ table, group, get }) => {
    table.ownUnrouted(group('/files', GUARDED))
    get('/files/list')
  },
  'a group with a fallback': ({ table, group, get }) => {
    const files = group('/files', GUARDED)
    table.addFallbacks([new Route(files, null, '/files/*rest', {}, () => {}, 'fallback')])
    get('/files/list')
  },
  'a group without a path': ({ group, get }) => {
    group('', GUARDED)
    get('/a')
  },
}
for (const [what, declare] of Object.entries(MEANT)) test(`no warning for ${what}`, () => assert.deepEqual(warningsOf(declare), []))
