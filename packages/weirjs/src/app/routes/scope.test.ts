import assert from 'node:assert/strict'
import { test } from 'node:test'

import { checkPolicy } from '../policies/policy.ts'
import { checkChain, commonScope, type Level, Scope, usedPolicies } from './scope.ts'
import { splitDeclaration } from './split-declaration.ts'

function scopeIn(parent: Scope | null, level: Level, declaration: object = {}): Scope {
  if (parent !== null) return new Scope(parent, level, '', splitDeclaration(declaration, level === 'server' ? 'group' : level, ''))
  const root = new Scope(null, 'server', '', splitDeclaration(declaration, 'group', ''))
  root.composeWith((middlewares) => (() => middlewares.map(({ name }) => name)) as never)
  return root
}

const policy = (name?: string) => ({ ...(name === undefined ? {} : { name }), gate: () => {} })

test('the innermost value of an option applies, and says at which level it is set', () => {
  const group = scopeIn(scopeIn(null, 'server'), 'group', { requestTimeout: 1, writeTimeout: 2 })
  const route = scopeIn(group, 'route', { requestTimeout: null })
  assert.deepEqual({ ...route.settings }, { requestTimeout: { value: null, level: 'route' }, writeTimeout: { value: 2, level: 'group' } })
})

test('metadata, answers and tags are those of all levels, the inner ones last', () => {
  const group = scopeIn(scopeIn(null, 'server'), 'group', { metadata: { a: 1, b: 1 }, answers: { 404: null, 204: null }, tags: ['x'] })
  const route = scopeIn(group, 'route', { metadata: { b: 2 }, answers: { 202: null }, tags: ['y', 'x'] })
  assert.deepEqual([route.metadata, Object.keys(route.answers), route.tags], [{ a: 1, b: 2 }, ['202', '204', '404'], ['x', 'y']])
  assert.equal(scopeIn(group, 'route').metadata, group.metadata)
})

test('a policy takes the place of the outer one with its name; one without a name never does', () => {
  const group = scopeIn(scopeIn(null, 'server', { use: [policy('auth'), policy()] }), 'group', { use: [policy('limit')] })
  const route = scopeIn(group, 'route', { use: [policy('auth'), policy()] })
  assert.deepEqual(
    route.chain.policies.map(({ policy: { name }, level, depth, replaces }) => [name, level, depth, replaces.join()]),
    [
      ['auth', 'route', 2, 'server'],
      [null, 'server', 0, ''],
      ['limit', 'group', 1, ''],
      [null, 'route', 2, ''],
    ],
  )
  assert.equal(scopeIn(group, 'route').chain, group.chain, 'a level that adds nothing shares the chain')
})

test('a name is used once at a level', () => {
  const root = scopeIn(null, 'server')
  assert.deepEqual(
    [root.use(checkPolicy('', policy('a'))), root.use(checkPolicy('', policy('a'))), root.use(checkPolicy('', policy()))],
    [true, false, true],
  )
})

test('what is used later applies inside as well', () => {
  const root = scopeIn(null, 'server')
  const route = scopeIn(root, 'route', { use: [policy('own')] })
  assert.equal(route.chain.gates.length, 1)
  root.use(checkPolicy('', policy('late')))
  root.beforeSend(() => {})
  assert.deepEqual([route.chain.gates.length, route.chain.hooks.length], [2, 1])
  assert.deepEqual(
    usedPolicies(route.chain).map(({ name }) => name),
    ['late', 'own'],
  )
})

test('hooks run in order: the tag, those of policies, those that were added from the outside in', () => {
  const names: string[] = []
  const hook = (name: string) => () => void names.push(name)
  const root = scopeIn(null, 'server', { use: [{ beforeSend: hook('policy') }] })
  root.beforeSend(hook('server'))
  const group = scopeIn(root, 'group', { etag: true })
  group.beforeSend(hook('group'))
  const { hooks } = scopeIn(group, 'route').chain
  for (const one of hooks.slice(1)) one(null as never, null as never)
  assert.deepEqual([hooks.length, names], [4, ['policy', 'server', 'group']])
  assert.equal(scopeIn(group, 'route', { etag: false }).chain.hooks.length, 3, 'a route that turns the tag off')
})

test('each policy is asked whether it can work there', () => {
  const asked: unknown[] = []
  const check = (used: readonly { name: string }[], where: string) => void asked.push([used.map(({ name }) => name), where])
  const root = scopeIn(null, 'server', { use: [policy('a'), { name: 'b', check }] })
  checkChain(root.chain, 'here', null)
  assert.deepEqual(asked, [[['a', 'b'], 'here']])
})

test('the level that several share is the innermost around all of them', () => {
  const root = scopeIn(null, 'server')
  const group = scopeIn(root, 'group')
  const [a, b] = [scopeIn(group, 'class'), scopeIn(group, 'class')]
  assert.equal(commonScope([a!]), a)
  assert.equal(commonScope([a!, b!]), group)
  assert.equal(commonScope([scopeIn(a!, 'route'), a!]), a)
  assert.equal(commonScope([a!, root]), root)
})

test('a chain cannot run before it is composed', () => {
  assert.throws(() => new Scope(null, 'server', '').chain.pipeline(null as never), /before composeWith/)
})

test('a policy that only checks is not shown, and sees no other of its kind', () => {
  const seen: string[] = []
  const root = scopeIn(null, 'server')
  root.use(
    checkPolicy('use()', { check: (policies: readonly { name: string }[]) => void seen.push(policies.map(({ name }) => name).join()) }),
  )
  root.use(checkPolicy('use()', { name: 'gate', gate: () => undefined }))
  checkChain(root.chain, 'here', null)
  assert.deepEqual(seen, ['gate'])
  assert.deepEqual(
    root.chain.policies.map(({ policy }) => policy.label),
    ['gate'],
  )
})

test('a policy without hooks must remove an outer one', () => {
  const inner = (outer: object, name: string) => scopeIn(scopeIn(null, 'server', outer), 'group', { use: [{ name }] }).chain
  checkChain(inner({ use: [policy('a')] }, 'a'), 'here', null)
  const cases: readonly (readonly [outer: object, name: string, says: RegExp])[] = [
    [{}, 'a', /: here: the policy \{ name: "a" \} would remove an outer one .* and there is none: no policy around it has a name$/],
    [{ use: [policy('b'), policy()] }, 'a', /there is none: those with a name are "b"$/],
    [{}, 'auth', /there is none: .*; what opens a route is auth\.open$/],
  ]
  for (const [outer, name, message] of cases)
    assert.throws(() => checkChain(inner(outer, name), 'here', null), { code: 'WEIR_ROUTE_DECLARATION', message })
})

test('the outermost policy is around those that were there before', () => {
  const root = scopeIn(null, 'server', { use: [policy('a')] })
  root.useOutermost(checkPolicy('useOutermost()', policy('first')))
  assert.deepEqual(
    root.chain.policies.map(({ policy }) => [policy.name, policy.runsFirst]),
    [
      ['first', true],
      ['a', false],
    ],
  )
})

test('one level shows URLs as the server says', () => {
  const root = scopeIn(null, 'server')
  const group = scopeIn(root, 'group')
  root.showWith(() => 'hidden')
  assert.equal(group.showUrl({ url: '/secret' } as never, null), 'hidden')
})
