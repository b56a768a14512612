import assert from 'node:assert/strict'
import { test } from 'node:test'

import { hostName } from '../base/host-name.ts'
import { otherHosts, otherReadings } from './other-readings.ts'

test('a path has other readings if some code may see slashes elsewhere', () => {
  const rows: readonly (readonly [path: string, readings: readonly string[]])[] = [
    ['/', []],
    ['/admin/a.b/', []],
    ['/a%252', []],
    ['/admin//a', ['/admin/a']],
    ['//admin/a', ['/admin/a', '/a']],
    ['//x/admin/a', ['/x/admin/a', '/admin/a']],
    ['///x/admin', ['/x/admin', '/admin']],
    ['//x', ['/x', '/']],
    ['//', ['/']],
    ['/admin%2Fa', ['/admin/a']],
    ['/%2Fx/admin', ['//x/admin', '/x/admin', '/admin']],
    ['/admin\\a', ['/admin/a']],
    ['/x/..%2Fadmin', ['/x/../admin', '/admin']],
    ['/x%2F..', ['/x/..', '/']],
    ['/admin%2F.', ['/admin/.', '/admin/', '/admin']],
    ['/..%2F..%2Fadmin/', ['/../../admin/', '/admin/']],
    ['/admin/x%2F..', ['/admin/x/..', '/admin/', '/admin']],
    ['/ad\tmin/\r\na', ['/admin/a']],
    ['/\n/x/admin', ['//x/admin', '/x/admin', '/admin']],
    ['/x/.\t./admin', ['/x/../admin', '/admin']],
    ['/x/\t../admin', ['/x/../admin', '/admin']],
    ['/admin ', ['/admin']],
    ['/admin\x01\x1f', ['/admin']],
    ['/admin ?x', ['/admin ', '/admin']],
    ['/admin#x/y', ['/admin']],
    ['/admin x', []],
    ['/a%F0%90%80%80b', []],
    ['/admin%2F%23x', ['/admin/#x', '/admin%2F', '/admin/']],
    ['/admin//%3Fx', ['/admin/?x', '/admin//', '/admin/']],
    ['/admin%5C%20', ['/admin/ ', '/admin\\', '/admin/']],
    ['/x%2F..%2Fadmin%2F%23x', ['/x/../admin/#x', '/admin/#x', '/x%2F..%2Fadmin%2F', '/x/../admin/', '/admin/']],
    ['/a%252Fb', ['/a/b']],
    ['/admin//..%2Fx', ['/admin/..%2Fx', '/admin//../x', '/admin/x', '/x']],
    ['/admin%2F%252F', ['/admin/%2F', '/admin//', '/admin/']],
    ['/a/b%2F%252F%2F..%2F..%2Fx', ['/a/b/%2F/../../x', '/a/x', '/a/b///../../x', '/a/b/x', '/x']],
    ['/ ', ['/']],
    ['/%252e/admin', ['/./admin', '/admin']],
    ['/x/.%252E/admin', ['/x/../admin', '/admin']],
    ['/x%5C%252e%252e/admin', ['/x/%2e%2e/admin', '/x\\../admin', '/x/../admin', '/admin']],
    ['/a%252Eb', ['/a.b']],
    ['/teams/a%2Fb//x', ['/teams/a%2Fb/x', '/teams/a/b//x', '/teams/a/b/x']],
    ['/teams/a\\b%2Fx', ['/teams/a\\b/x', '/teams/a/b%2Fx', '/teams/a/b/x']],
  ]
  for (const [path, readings] of rows) assert.deepEqual(otherReadings(path), readings, path)
})

test('code below a prefix may see only the rest, in which a URL parser finds a host', () => {
  assert.deepEqual(otherReadings('/old//x/admin', 1), ['/old/x/admin', '/old/admin'])
  assert.deepEqual(otherReadings('/old/a/%2Fx/admin', 2), ['/old/a//x/admin', '/old/a/x/admin', '/old/a/admin'])
  assert.deepEqual(otherReadings('/teams/a%2Fb//x/admin', 2), [
    '/teams/a%2Fb/x/admin',
    '/teams/a%2Fb/admin',
    '/teams/a/b//x/admin',
    '/teams/a/b/x/admin',
  ])
})

test('a host has another reading if URL parsers decode it', () => {
  const rows = [
    ['%61dmin.example', 'admin.example'],
    ['admin%2Eexample', 'admin.example'],
    ['admin.example%2e', 'admin.example'],
    ['127.1', '127.0.0.1'],
    ['0x7f.1', '127.0.0.1'],
    ['2130706433', '127.0.0.1'],
    ['127.0.0.1', null],
    ['[0::1]', '[::1]'],
    ['[::1]', null],
    ['admin.example', null],
    ['1.example', null],
    ['%zz', null],
    ['', null],
  ] as const
  for (const [host, other] of rows)
    assert.deepEqual(
      otherHosts(hostName(host), null, null)?.filter((one) => !one.startsWith('[') || one.endsWith(']')), // `[0` is the host of no route
      other === null ? [] : [other],
      host,
    )
})

test('code may read any host that is stated', () => {
  const hostsOf = (stated: string | null, forwarded: string | null = null) => otherHosts('a', stated, forwarded)
  const rows = [
    'admin.example',
    'admin.example, b',
    'b ,admin.example:',
    'x@admin.example',
    'x:y@admin.example',
    'admin.example:1:2',
    'ad\xadmin.example',
    'admin.example/x',
  ]
  for (const stated of rows) assert.ok(hostsOf(stated)?.includes('admin.example'), stated)
  for (const stated of ['for=1.2.3.4;Host=admin.example', 'for=b, host="admin.example:80";proto=http', 'host="ad\\min\\.example"'])
    assert.ok(hostsOf(null, stated)?.includes('admin.example'), stated)
  assert.deepEqual(hostsOf('a', 'for="[::1]";by=b'), [])
  assert.equal(hostsOf('b,'.repeat(9)), null)
  assert.equal(hostsOf(null, 'host=b,'.repeat(9)), null)
  assert.equal(hostsOf('b'.repeat(262)), null)
})
